import { signal } from '@preact/signals';
import { faultOf } from './call.ts';
import { explain } from './text/index.ts';

interface Notice {
  id: number;
  text: string;
  bad: boolean;
  /** Stays, with changing text, until the operation it reports has ended. */
  ongoing: boolean;
  /** An action offered while the notice is shown, such as undo. */
  act?: NoticeAct;
}

interface NoticeAct {
  label: string;
  do(): void;
}

const SHOWN_MS = 5_000;
const SHOWN_BAD_MS = 9_000;
const SHOWN_WITH_ACT_MS = 15_000;

export const notices = signal<Notice[]>([]);
let last = 0;

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

export function dropNotices(): void {
  notices.value = [];
}

export function notify(text: string, bad = false, act?: NoticeAct): void {
  const id = ++last;
  const ongoing = notices.value.filter((notice) => notice.ongoing);
  const others = notices.value.filter((notice) => !notice.ongoing && notice.text !== text);
  notices.value = [...ongoing, ...others.slice(-2), { id, text, bad, ongoing: false, ...(act && { act }) }];
  setTimeout(() => dismiss(id), act ? SHOWN_WITH_ACT_MS : bad ? SHOWN_BAD_MS : SHOWN_MS);
}

export function notifyError(error: unknown): void {
  notify(explain(faultOf(error)), true);
}

export function notifyProgress(first: string): { change(text: string): void; end(): void } {
  const id = ++last;
  notices.value = [{ id, text: first, bad: false, ongoing: true }, ...notices.value];
  return {
    change(text) {
      notices.value = notices.value.map((notice) => (notice.id === id ? { ...notice, text } : notice));
    },
    end: () => dismiss(id),
  };
}
