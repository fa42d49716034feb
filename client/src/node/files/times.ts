import { futimesSync, lutimesSync } from 'node:fs';
import type { AttributesChange } from '@szafa/format';
import { diskPath } from './disk-path.ts';

const NANOS_IN_MS = 1_000_000;

/** Time of the last modification, in the form of the metadata. @public */
export type KeptTime = Pick<AttributesChange, 'mtime' | 'nanos'>;

/** Converts a time from the file system without losing precision. @public */
export function exactTime(mtimeNs: bigint): { mtime: number; nanos?: number } {
  const mtime = Math.round(Number(mtimeNs) / NANOS_IN_MS);
  const nanos = Number(mtimeNs - BigInt(mtime) * BigInt(NANOS_IN_MS));
  return nanos === 0 ? { mtime } : { mtime, nanos };
}

/** Compares two times, to the millisecond only if the stored one has no `nanos`. @public */
export function isSameTime(kept: KeptTime, { mtime, nanos = 0 }: KeptTime): boolean {
  return kept.mtime === mtime && (kept.nanos === undefined || kept.nanos === nanos);
}

interface Calls {
  /** Both functions return 0, or -1 on failure. */
  futimens(fd: number, times: Uint8Array): number;
  utimensat(folder: number, path: Uint8Array, times: Uint8Array, flags: number): number;
}

/** Functions of the C library. Node's own functions take seconds as a double, which is exact to 200 ns only. */
let calls: Calls | null | undefined;

function loadCalls(): Calls | null {
  if (process.platform !== 'linux' && process.platform !== 'darwin') return null;
  const { emitWarning } = process;
  // Suppress Node's warning about experimental modules: it would appear in the error output of a command.
  process.emitWarning = () => {};
  try {
    const { dlopen } = process.getBuiltinModule('node:ffi');
    return dlopen(null, {
      futimens: { arguments: ['i32', 'buffer'], return: 'i32' },
      utimensat: { arguments: ['i32', 'buffer', 'buffer', 'i32'], return: 'i32' },
    }).functions;
  } catch {
    return null; // this Node has no ffi: times are exact to 200 ns
  } finally {
    process.emitWarning = emitWarning;
  }
}

const NO_FOLLOW = process.platform === 'darwin' ? 0x20 : 0x100;
const THIS_FOLDER = process.platform === 'darwin' ? -2 : -100;

/** Returns two `struct timespec`: last access (now) and last modification. */
function timespecs({ mtime = 0, nanos = 0 }: KeptTime): Uint8Array {
  const pairs = [BigInt(Date.now()) * 1_000_000n, BigInt(mtime) * 1_000_000n + BigInt(nanos)].flatMap(
    (time) => {
      const rest = ((time % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
      return [(time - rest) / 1_000_000_000n, rest];
    },
  );
  return new Uint8Array(BigInt64Array.from(pairs).buffer);
}

/** Sets the time of an open file or folder. */
export function setTime(fd: number, time: KeptTime): void {
  if (time.mtime === undefined) return;
  calls ??= loadCalls();
  if (calls?.futimens(fd, timespecs(time)) === 0) return;
  // Pass a Date: Node replaces a negative number, a time before 1970, with the current time.
  futimesSync(fd, new Date(), new Date(time.mtime));
}

/** Sets the time of a symbolic link itself. @public */
export function setLinkTime(path: string, time: KeptTime): void {
  if (time.mtime === undefined) return;
  calls ??= loadCalls();
  const name = Buffer.concat([Buffer.from(diskPath(path)), Buffer.of(0)]);
  if (calls?.utimensat(THIS_FOLDER, name, timespecs(time), NO_FOLLOW) === 0) return;
  lutimesSync(diskPath(path), new Date(), new Date(time.mtime));
}
