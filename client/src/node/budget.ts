const MOST = 1024 * 1024 * 1024;
const LEAST = 64 * 1024 * 1024;

/** A quarter of what the system has free, up to 1 GiB. A file that fits is sealed only once. @public */
export function memoryBudget(free = process.availableMemory()): number {
  return Math.max(LEAST, Math.min(MOST, Math.floor(free / 4)));
}
