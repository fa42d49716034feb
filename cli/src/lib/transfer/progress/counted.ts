import type { Output } from '../../print/output.ts';

const FIRST_MS = 2000;
const EVERY_MS = 5000;

/** For work on many files that moves no bytes: says how far it is, once it takes its time. */
export function counted(out: Output, what: string): (done: number, total: number) => void {
  let next = performance.now() + FIRST_MS;
  return (done, total) => {
    if (performance.now() < next) return;
    next = performance.now() + EVERY_MS;
    out.progress({ files_done: done, files_total: total }, `${what}: ${done} of ${total} files`);
  };
}
