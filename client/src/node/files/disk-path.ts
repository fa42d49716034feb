/**
 * Conversion of file names, which are bytes and not always UTF-8. In our paths, a character from U+EF80 to U+EFFF stands for one byte
 * from 0x80 to 0xFF. If a name itself contains such a character, its three bytes are escaped the same way, so that different names never
 * map to the same text.
 */
import { readdir, realpathSync } from 'node:fs';
import { promisify } from 'node:util';

const RAW = /[\uef80-\uefff]/;
/** Characters that appear if a name is not UTF-8, or that stand for bytes. */
const DOUBTFUL = /[\uef80-\uefff\ufffd]/;
const FIRST_RAW = 0xef00;

const readdirAsync = promisify(readdir);

/** Decodes the bytes of a name or path. @public */
export function pathText(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const plain = buffer.toString('utf8');
  if (!DOUBTFUL.test(plain)) return plain;
  let text = '';
  for (let at = 0; at < buffer.length; ) {
    const lead = buffer[at]!;
    const part = buffer.subarray(at, at + (lead < 0xc0 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4));
    const char = part.toString('utf8');
    const isExact = Buffer.from(char).equals(part) && !RAW.test(char);
    text += isExact ? char : String.fromCharCode(FIRST_RAW + lead);
    at += isExact ? part.length : 1;
  }
  return text;
}

/** Converts a path from a person or from Node, which was decoded as plain UTF-8. @public */
export const givenPath = (path: string) => (RAW.test(path) ? pathText(Buffer.from(path)) : path);

/** Encodes a path for calls to the file system. @public */
export function diskPath(path: string): string | Buffer {
  if (!RAW.test(path) || process.platform === 'win32') return path;
  const parts = path.split(/([\uef80-\uefff])/).map((part) => {
    return RAW.test(part) ? Buffer.of(part.charCodeAt(0) - FIRST_RAW) : Buffer.from(part);
  });
  return Buffer.concat(parts);
}

/** Lists the names in a folder, sorted. @public */
export async function namesIn(folder: string): Promise<string[]> {
  const path = diskPath(folder);
  const names = await readdirAsync(path);
  if (!names.some((name) => DOUBTFUL.test(name))) return names.sort();
  return (await readdirAsync(path, { encoding: 'buffer' })).map(pathText).sort();
}

/** Resolves symbolic links. */
export function realPath(path: string): string {
  return pathText(realpathSync.native(diskPath(path), { encoding: 'buffer' }));
}
