/** Reads the CPU time and memory of a server and all its child processes from /proc. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/** USER_HZ, which is fixed on every architecture that Node supports. */
const TICKS_PER_SECOND = 100;

export interface ProcessPeak {
  pid: number;
  command: string;
  peakBytes: number;
}

interface Stat {
  ppid: number;
  /** CPU time of the process and of its children that have ended. */
  ticks: number;
}

/** Returns undefined if the process has ended since it was listed. */
function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return undefined;
    throw error;
  }
}

function readStat(pid: number): Stat | undefined {
  const text = readProc(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  // The command name in parentheses may contain blanks. After it comes field 3, the state.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (number: number) => Number(fields[number - 3]);
  return { ppid: field(4), ticks: field(14) + field(15) + field(16) + field(17) };
}

/** Returns a process and all its descendants. */
export function processTree(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    const stat = Number.isInteger(pid) ? readStat(pid) : undefined;
    if (stat) children.set(stat.ppid, [...(children.get(stat.ppid) ?? []), pid]);
  }
  const tree = [root];
  for (const pid of tree) tree.push(...(children.get(pid) ?? []));
  return tree;
}

export function cpuSeconds(root: number): number {
  const ticks = processTree(root).reduce((sum, pid) => sum + (readStat(pid)?.ticks ?? 0), 0);
  return ticks / TICKS_PER_SECOND;
}

/** Resets the peak of the resident set to its current size. */
export function resetPeaks(root: number): void {
  for (const pid of processTree(root)) writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

export function peaks(root: number): ProcessPeak[] {
  return processTree(root).flatMap((pid) => {
    const status = readProc(`/proc/${pid}/status`);
    const kib = /^VmHWM:\s+(\d+) kB$/m.exec(status ?? '')?.[1];
    if (status === undefined || kib === undefined) return [];
    return [{ pid, command: /^Name:\s+(.*)$/m.exec(status)?.[1] ?? '', peakBytes: Number(kib) * 1024 }];
  });
}
