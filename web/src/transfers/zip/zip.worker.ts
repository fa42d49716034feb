/**
 * Writes a zip while its files are read. Nothing is compressed, because most large files already are. The directory comes
 * last: a zip cut short by an error is invalid in every program, and cannot pass for a complete one.
 */
import { alike, safeSegments, withRoom } from '@szafa/client';

/**
 * Eight CRC tables in one, to process eight bytes at a time: 1.0 GB per CPU second instead of 0.35. The numbers are
 * signed, because JavaScript engines are fast only with those.
 */
const TABLES = new Int32Array(8 * 256);

for (let byte = 0; byte < 256; byte++) {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  TABLES[byte] = crc;
}
for (let at = 256; at < TABLES.length; at++) {
  const before = TABLES[at - 256]!;
  TABLES[at] = (before >>> 8) ^ TABLES[before & 0xff]!;
}

const look = (table: number, byte: number) => TABLES[(table << 8) | (byte & 0xff)]!;

/** CRC-32 of data that comes in pieces. */
class Crc32 {
  #crc = -1;

  update(bytes: Uint8Array): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let crc = this.#crc;
    let at = 0;
    for (const end = bytes.length - 7; at < end; at += 8) {
      const low = crc ^ view.getInt32(at, true);
      const high = view.getInt32(at + 4, true);
      crc =
        look(7, low) ^
        look(6, low >>> 8) ^
        look(5, low >>> 16) ^
        look(4, low >>> 24) ^
        look(3, high) ^
        look(2, high >>> 8) ^
        look(1, high >>> 16) ^
        look(0, high >>> 24);
    }
    for (; at < bytes.length; at++) crc = (crc >>> 8) ^ look(0, crc ^ bytes[at]!);
    this.#crc = crc;
  }

  get value(): number {
    return ~this.#crc >>> 0;
  }
}

/** An entry of a zip. A path that ends in `/` is a folder. */
export interface ZipEntry {
  path: string;
  /** The exact number of bytes that `pieces` yields. */
  size: number;
  /** Milliseconds since 1970. */
  mtime: number;
  /** `pieces` yields the target of a symbolic link. */
  isLink?: boolean;
  /** Each piece is valid until the next one is requested. */
  pieces(): AsyncIterable<Uint8Array>;
}

/** In a four-byte field, this value says that the real number is in the zip64 field. */
const MOST_4 = 0xffff_ffff;
const MOST_2 = 0xffff;
const STORED = 0;
/** Checksum and sizes follow the file, and names are UTF-8. */
const FLAGS = 0x0808;
const VERSION = 45;
const UNIX = 3 << 8;
const FILE_MODE = 0o100644;
const LINK_MODE = 0o120777;
const FOLDER_MODE = 0o040755;
const FOLDER_BIT = 0x10;

const numbers = (bytes: number, set: (view: DataView, at: number, value: number) => void) => {
  return (...values: number[]) => {
    const view = new DataView(new ArrayBuffer(values.length * bytes));
    for (const [index, value] of values.entries()) set(view, index * bytes, value);
    return new Uint8Array(view.buffer);
  };
};
const u2 = numbers(2, (view, at, value) => view.setUint16(at, value, true));
const u4 = numbers(4, (view, at, value) => view.setUint32(at, value, true));
const u8 = numbers(8, (view, at, value) => view.setBigUint64(at, BigInt(value), true));
const NOTHING = new Uint8Array();

function joined(...parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Returns time and date in the DOS format: local time in steps of two seconds, from 1980 to 2107. */
function dosTime(mtime: number): [time: number, date: number] {
  const at = new Date(mtime);
  const year = at.getFullYear() - 1980;
  if (!(year >= 0)) return [0, (1 << 5) | 1];
  if (year > 127) return [(23 << 11) | (59 << 5) | 29, (127 << 9) | (12 << 5) | 31];
  const time = (at.getHours() << 11) | (at.getMinutes() << 5) | (at.getSeconds() >> 1);
  return [time, (year << 9) | ((at.getMonth() + 1) << 5) | at.getDate()];
}

/** Returns the extra field with the Unix time, which does not depend on the time zone. Not all programs read it. */
function exactTime(mtime: number): Uint8Array {
  const seconds = Math.floor(mtime / 1000);
  const fits = seconds >= -0x8000_0000 && seconds <= 0x7fff_ffff;
  return fits ? joined(u2(0x5455, 5), Uint8Array.of(1), u4(seconds)) : NOTHING;
}

const zip64 = (...values: number[]) =>
  values.length === 0 ? NOTHING : joined(u2(1, values.length * 8), u8(...values));

interface DirectoryRecord extends Pick<ZipEntry, 'size' | 'mtime'> {
  name: Uint8Array;
  attributes: number;
  crc: number;
  offset: number;
}

/** The header before a file. The checksum is not known yet, so checksum and sizes follow the file. */
function localHeader({ name, mtime, size }: DirectoryRecord): Uint8Array {
  const large = size >= MOST_4;
  const extra = joined(large ? zip64(0, 0) : NOTHING, exactTime(mtime));
  const sizes = large ? MOST_4 : 0;
  return joined(
    u4(0x04034b50),
    u2(VERSION, FLAGS, STORED, ...dosTime(mtime)),
    u4(0, sizes, sizes),
    u2(name.length, extra.length),
    name,
    extra,
  );
}

function descriptor({ crc, size }: DirectoryRecord): Uint8Array {
  return joined(u4(0x08074b50, crc), size >= MOST_4 ? u8(size, size) : u4(size, size));
}

function attributesOf({ path, isLink }: ZipEntry): number {
  if (path.endsWith('/')) return FOLDER_MODE * 0x1_0000 + FOLDER_BIT;
  return (isLink ? LINK_MODE : FILE_MODE) * 0x1_0000;
}

function directoryEntry({ name, attributes, mtime, size, crc, offset }: DirectoryRecord): Uint8Array {
  const large = size >= MOST_4 ? [size, size] : [];
  const far = offset >= MOST_4 ? [offset] : [];
  const extra = joined(zip64(...large, ...far), exactTime(mtime));
  const shown = Math.min(size, MOST_4);
  return joined(
    u4(0x02014b50),
    u2(UNIX | VERSION, VERSION, FLAGS, STORED, ...dosTime(mtime)),
    u4(crc, shown, shown),
    u2(name.length, extra.length, 0, 0, 0),
    u4(attributes, Math.min(offset, MOST_4)),
    name,
    extra,
  );
}

function ending(count: number, size: number, offset: number): Uint8Array {
  const shown = Math.min(count, MOST_2);
  const end = joined(
    u4(0x06054b50),
    u2(0, 0, shown, shown),
    u4(Math.min(size, MOST_4), Math.min(offset, MOST_4)),
    u2(0),
  );
  if (count < MOST_2 && size < MOST_4 && offset < MOST_4) return end;
  return joined(
    u4(0x06064b50),
    u8(44),
    u2(UNIX | VERSION, VERSION),
    u4(0, 0),
    u8(count, count, size, offset),
    u4(0x07064b50, 0),
    u8(offset + size),
    u4(1),
    end,
  );
}

/** Yields the bytes of a zip. Each piece is valid until the next one is requested. */
export async function* zip(
  entries: AsyncIterable<ZipEntry> | Iterable<ZipEntry>,
): AsyncGenerator<Uint8Array, void> {
  const listed: DirectoryRecord[] = [];
  let offset = 0;
  for await (const entry of entries) {
    const { path, size, mtime, pieces } = entry;
    const name = new TextEncoder().encode(path);
    const one: DirectoryRecord = { name, attributes: attributesOf(entry), size, mtime, crc: 0, offset };
    const header = localHeader(one);
    yield header;
    const crc = new Crc32();
    let seen = 0;
    for await (const piece of pieces()) {
      seen += piece.length;
      crc.update(piece);
      yield piece;
    }
    if (seen !== size) throw new RangeError(`${seen} bytes of a file of ${size}`);
    one.crc = crc.value;
    const tail = descriptor(one);
    yield tail;
    offset += header.length + size + tail.length;
    listed.push(one);
  }
  let length = 0;
  for (const one of listed) {
    const line = directoryEntry(one);
    length += line.length;
    yield line;
  }
  yield ending(listed.length, length, offset);
}

/** Device names, which Windows does not allow for files. */
const DEVICE = /^(con|conin\$|conout\$|prn|aux|nul|(com|lpt)[0-9¹²³]) *(\.|$)/i;

/** Replaces trailing dots and spaces, which Windows drops. */
const closed = (name: string) => name.replace(/[. ]+$/, (end) => '_'.repeat(end.length));

/** Makes a name that every system can write. */
function writable(segment: string): string {
  const cleaned = closed(segment.replace(/[:*?"<>|]/g, '_'));
  return DEVICE.test(cleaned) ? closed(`_${withRoom(cleaned)}`) : cleaned;
}

/** No system opens longer paths, and a zip has only two bytes for the length. */
const MOST_PATH_BYTES = 4_000;

/** Returns as many leading folders as fit the limit. A hostile link may contain millions. */
function fitting(folders: string[], last: string): string[] {
  let length = utf8Length(last);
  const fits = (folder: string) => {
    length += utf8Length(folder) + 1;
    return length <= MOST_PATH_BYTES;
  };
  const count = folders.findIndex((folder) => !fits(folder));
  return count < 0 ? folders : folders.slice(0, count);
}

const utf8Length = (text: string) => new TextEncoder().encode(text).length;

/** Makes the paths of one zip safe and unique, also on disks that ignore case. */
export class ZipPaths {
  readonly #folders = new Map<string, string>();
  readonly #taken = new Set<string>();
  /** The next number to try for a name, since thousands of files may have the same name. */
  readonly #tried = new Map<string, number>();

  /** Returns the path in the zip. A folder, whose path ends in `/`, gets the same one each time. */
  of(path: string): string {
    const segments = safeSegments(path);
    const last = path.endsWith('/') ? undefined : segments.pop()!;
    let [from, to] = ['', ''];
    for (const segment of fitting(segments, last ?? '')) {
      from += `${segment}/`;
      const known = this.#folders.get(from) ?? `${this.#free(to, segment, false)}/`;
      this.#folders.set(from, known);
      to = known;
    }
    return last === undefined ? to : this.#free(to, last, true);
  }

  #free(folder: string, segment: string, hasExtension: boolean): string {
    const name = folder + writable(segment);
    if (this.#take(name)) return name;
    const short = closed(withRoom(name.slice(folder.length)));
    const dot = hasExtension ? short.lastIndexOf('.') : 0;
    const [stem, extension] = dot > 0 ? [short.slice(0, dot), short.slice(dot)] : [short, ''];
    const all = `${alike(folder + stem)}/${alike(extension)}`;
    for (let number = this.#tried.get(all) ?? 2; ; number++) {
      const wish = `${folder}${stem} (${number})${extension}`;
      if (!this.#take(wish)) continue;
      this.#tried.set(all, number + 1);
      return wish;
    }
  }

  #take(path: string): boolean {
    const before = this.#taken.size;
    return this.#taken.add(alike(path)).size > before;
  }
}
