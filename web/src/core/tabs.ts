import { TAB_CHANNEL, type TabNews } from './bridge/messages.ts';

const channel = new BroadcastChannel(TAB_CHANNEL);

/** Tells the other tabs of this browser. */
export function toTabs(news: TabNews): void {
  channel.postMessage(news);
}

export function onTabs(act: (news: TabNews) => void): void {
  channel.onmessage = ({ data }: MessageEvent<TabNews>) => act(data);
}
