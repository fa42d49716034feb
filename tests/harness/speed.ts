import { availableParallelism, loadavg } from 'node:os';

const STEPS = 5_000_000;
/** Time for these steps on an idle machine of the speed that time limits are made for. */
const MEANT_MS = 20;

/** Returns the factor, at least 1, by which to extend time limits on a slow or busy machine. */
export function slowness(): number {
  const times = Array.from({ length: 9 }, () => {
    const since = performance.now();
    let value = 1;
    for (let step = 0; step < STEPS; step++) value = (Math.imul(value, 1664525) + 1013904223) | 0;
    // Use the value, so that the loop is not optimized away.
    return performance.now() - since + Math.abs(value) * 1e-20;
  });
  const median = times.sort((a, b) => a - b)[4]!;
  return Math.max(1, median / MEANT_MS, loadavg()[0]! / availableParallelism());
}
