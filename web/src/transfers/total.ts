/** The total progress of all transfers, and their order in the panel. */
import { effect, signal } from '@preact/signals';
import { Rate } from './rate.ts';
import { active, type Transfer, type TransferState, transfers } from './transfers.ts';

export interface Total {
  /** Numbers of files (`finished` of `count`), and their bytes (`done` of `size`). */
  finished: number;
  count: number;
  done: number;
  size: number;
  /** Bytes per second. */
  rate: number;
}

const EVERY_MS = 500;
/** Paused and failed transfers do not count until they resume. */
const COUNTED: readonly TransferState[] = ['waiting', 'running', 'done'];

const rate = new Rate();
/** Null if nothing is running. */
export const total = signal<Total | null>(null);

export function sumOf(all: readonly Transfer[]): Omit<Total, 'rate'> {
  const sum = { finished: 0, count: 0, done: 0, size: 0 };
  for (const { status, size } of all) {
    const { state, done } = status.peek();
    if (!COUNTED.includes(state)) continue;
    sum.count++;
    sum.size += size;
    sum.done += done;
    if (state === 'done') sum.finished++;
  }
  return sum;
}

function measure(): void {
  const sum = sumOf(transfers.peek());
  total.value = { ...sum, rate: rate.mark(sum.done) };
}

let clock: ReturnType<typeof setInterval> | undefined;

effect(() => {
  const isBusy = active.value.length > 0;
  if (isBusy === (clock !== undefined)) return;
  if (isBusy) {
    rate.clear();
    measure();
    clock = setInterval(measure, EVERY_MS);
  } else {
    clearInterval(clock);
    clock = undefined;
    total.value = null;
  }
});

/** Sorts running transfers first, then those that need attention, then waiting (next first), then done (newest first). */
export function sortTransfers(all: readonly Transfer[]): Transfer[] {
  const of = (...states: TransferState[]) => all.filter(({ status }) => states.includes(status.value.state));
  return [
    ...of('running').reverse(),
    ...of('failed', 'interrupted', 'paused'),
    ...of('waiting').reverse(),
    ...of('done'),
  ];
}
