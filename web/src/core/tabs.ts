import { TAB_CHANNEL, type TabNews } from './bridge/messages.ts';

const channel = new BroadcastChannel(TAB_CHANNEL);

export function toTabs(news: TabNews): void {
  channel.postMessage(news);
}

export function onTabs(act: (news: TabNews) => void): void {
  channel.onmessage = ({ data }: MessageEvent<TabNews>) => act(data);
}
