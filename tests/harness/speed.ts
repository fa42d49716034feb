import { availableParallelism, loadavg } from 'node:os';

const STEPS = 5_000_000;
/** What they take on a machine for which limits of time are meant, and that does nothing else. */
const MEANT_MS = 20;

/** How many times longer than meant a time may be here and now: the machine may be slow, or busy with something else. At least 1. */
export function slowness(): number {
  const times = Array.from({ length: 9 }, () => {
    const since = performance.now();
    let value = 1;
    for (let step = 0; step < STEPS; step++) value = (Math.imul(value, 1664525) + 1013904223) | 0;
    // What nobody looks at need not be computed.
    return performance.now() - since + Math.abs(value) * 1e-20;
  });
  const median = times.sort((a, b) => a - b)[4]!;
  return Math.max(1, median / MEANT_MS, loadavg()[0]! / availableParallelism());
}
