import { signal } from '@preact/signals';
import { explain } from '../text.ts';
import { faultOf } from './core.ts';

interface Notice {
  id: number;
  text: string;
  bad: boolean;
}

const SHOWN_MS = 5_000;
const SHOWN_BAD_MS = 9_000;

export const notices = signal<Notice[]>([]);
let last = 0;

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

export function tell(text: string, bad = false): void {
  const id = ++last;
  const others = notices.value.filter((notice) => notice.text !== text);
  notices.value = [...others.slice(-2), { id, text, bad }];
  setTimeout(() => dismiss(id), bad ? SHOWN_BAD_MS : SHOWN_MS);
}

export function tellFault(error: unknown): void {
  tell(explain(faultOf(error)), true);
}
