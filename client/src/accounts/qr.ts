/**
 * QR codes (ISO/IEC 18004) of a text, in bytes, with error correction level M, of the smallest version that fits. Only what links and secrets
 * need: no other modes, no other levels. `qr` gives the modules row by row, true for dark, without the quiet zone of four around them.
 */
/** Of level M, by version: codewords of error correction in each block, and blocks. */
const CORRECTION = [
  10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26, 26, 28, 28, 28, 28, 28, 28,
  28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28,
];
const BLOCKS = [
  1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16, 17, 17, 18, 20, 21, 23, 25, 26, 28, 29,
  31, 33, 35, 37, 38, 40, 43, 45, 47, 49,
];
/** What format information says of level M. */
const LEVEL = 0;

type Grid = Uint8Array[];

/** Where alignment patterns have their centres, on both axes. */
function centres(version: number): number[] {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = Math.floor((version * 8 + count * 3 + 5) / (count * 4 - 4)) * 2;
  const last = version * 4 + 10;
  return [6, ...Array.from({ length: count - 1 }, (_, at) => last - step * (count - 2 - at))];
}

/** Bits that codewords have room for: all modules but those of the patterns. */
function roomOf(version: number): number {
  const size = version * 4 + 17;
  const aligned = centres(version).length;
  // Those on the timing patterns share five modules with them; none is where a finder pattern is.
  const alignment = aligned === 0 ? 0 : (aligned * aligned - 3) * 25 - (aligned - 2) * 2 * 5;
  const finders = 3 * 64;
  const timing = 2 * (size - 16);
  const format = 2 * 15 + 1;
  return size * size - finders - timing - format - alignment - (version >= 7 ? 36 : 0);
}

function sizes(version: number) {
  const codewords = Math.floor(roomOf(version) / 8);
  const [correction, blocks] = [CORRECTION[version - 1]!, BLOCKS[version - 1]!];
  return { codewords, correction, blocks, data: codewords - correction * blocks };
}

/** Product in the field of 256 elements that the standard names. */
function times(a: number, b: number): number {
  let product = 0;
  for (let bit = 7; bit >= 0; bit--) {
    product = (product << 1) ^ ((product >>> 7) * 0x11d);
    product ^= ((b >>> bit) & 1) * a;
  }
  return product;
}

function generator(degree: number): number[] {
  const result = [...Array<number>(degree - 1).fill(0), 1];
  for (let root = 1, at = 0; at < degree; at++, root = times(root, 2)) {
    for (let k = 0; k < degree; k++) result[k] = times(result[k]!, root) ^ (result[k + 1] ?? 0);
  }
  return result;
}

function remainder(data: number[], divisor: number[]): number[] {
  const result = divisor.map(() => 0);
  for (const byte of data) {
    const factor = byte ^ result.shift()!;
    result.push(0);
    for (let at = 0; at < divisor.length; at++) result[at]! ^= times(divisor[at]!, factor);
  }
  return result;
}

/** Mode, length and bytes, filled up. */
function dataOf(bytes: Uint8Array, version: number): number[] {
  const room = sizes(version).data * 8;
  const bits: number[] = [];
  const push = (value: number, count: number) => {
    for (let bit = count - 1; bit >= 0; bit--) bits.push((value >>> bit) & 1);
  };
  push(4, 4);
  push(bytes.length, version < 10 ? 8 : 16);
  for (const byte of bytes) push(byte, 8);
  push(0, Math.min(4, room - bits.length));
  while (bits.length % 8 > 0) bits.push(0);
  for (let pad = 0xec; bits.length < room; pad ^= 0xec ^ 0x11) push(pad, 8);
  return Array.from({ length: room / 8 }, (_, at) =>
    bits.slice(at * 8, at * 8 + 8).reduce((value, bit) => value * 2 + bit, 0),
  );
}

/** The data in blocks, each with its error correction, and all of them interleaved. */
function codewordsOf(data: number[], version: number): number[] {
  const { codewords, correction, blocks: count } = sizes(version);
  const long = codewords % count;
  const divisor = generator(correction);
  const blocks: { data: number[]; correction: number[] }[] = [];
  for (let at = 0, from = 0; at < count; at++) {
    const length = Math.floor(codewords / count) - correction + (at < count - long ? 0 : 1);
    const part = data.slice(from, from + length);
    blocks.push({ data: part, correction: remainder(part, divisor) });
    from += length;
  }
  const longest = blocks.at(-1)!.data.length;
  const taken = (of: 'data' | 'correction', length: number) =>
    Array.from({ length }, (_, at) => blocks.flatMap((block) => block[of].slice(at, at + 1))).flat();
  return [...taken('data', longest), ...taken('correction', correction)];
}

/** Bits with what is left of them after a division, as format and version information have it. */
function checked(value: number, divisor: number, bits: number): number {
  let rest = value;
  for (let at = 0; at < bits; at++) rest = (rest << 1) ^ ((rest >>> (bits - 1)) * divisor);
  return (value << bits) | rest;
}

class Drawing {
  readonly size: number;
  readonly modules: Grid;
  /** Modules that belong to patterns. */
  readonly fixed: Grid;
  readonly #version: number;

  constructor(version: number) {
    this.#version = version;
    this.size = version * 4 + 17;
    const blank = () => Array.from({ length: this.size }, () => new Uint8Array(this.size));
    [this.modules, this.fixed] = [blank(), blank()];
    for (let at = 0; at < this.size; at++) {
      this.#set(6, at, at % 2 === 0);
      this.#set(at, 6, at % 2 === 0);
    }
    const far = this.size - 4;
    for (const [x, y] of [
      [3, 3],
      [far, 3],
      [3, far],
    ] as const)
      this.#ring(x, y, 4, (distance) => distance !== 2 && distance !== 4);
    const at = centres(version);
    const last = at.length - 1;
    for (const [i, x] of at.entries()) {
      for (const [k, y] of at.entries()) {
        const onFinder = (i === 0 && (k === 0 || k === last)) || (i === last && k === 0);
        if (!onFinder) this.#ring(x, y, 2, (distance) => distance !== 1);
      }
    }
    this.format(0);
    if (version >= 7) this.#versionInformation();
  }

  #set(x: number, y: number, dark: boolean): void {
    const row = this.modules[y];
    if (!row || x < 0 || x >= this.size) return;
    row[x] = dark ? 1 : 0;
    this.fixed[y]![x] = 1;
  }

  #ring(x: number, y: number, radius: number, dark: (distance: number) => boolean): void {
    for (let dy = -radius; dy <= radius; dy++) {
      for (let dx = -radius; dx <= radius; dx++)
        this.#set(x + dx, y + dy, dark(Math.max(Math.abs(dx), Math.abs(dy))));
    }
  }

  format(mask: number): void {
    const bits = checked((LEVEL << 3) | mask, 0x537, 10) ^ 0x5412;
    const bit = (at: number) => ((bits >>> at) & 1) === 1;
    for (let at = 0; at < 15; at++) {
      // Around the finder pattern of the first corner, past the timing patterns, and once more beside the other two.
      const near = at < 6 ? at : at < 8 ? at + 1 : 0;
      if (at < 8) this.#set(8, near, bit(at));
      else this.#set(at === 8 ? 7 : 14 - at, 8, bit(at));
      if (at < 8) this.#set(this.size - 1 - at, 8, bit(at));
      else this.#set(8, this.size - 15 + at, bit(at));
    }
    this.#set(8, this.size - 8, true);
  }

  #versionInformation(): void {
    const bits = checked(this.#version, 0x1f25, 12);
    for (let at = 0; at < 18; at++) {
      const dark = ((bits >>> at) & 1) === 1;
      const [a, b] = [this.size - 11 + (at % 3), Math.floor(at / 3)];
      this.#set(a, b, dark);
      this.#set(b, a, dark);
    }
  }

  /** In pairs of columns from the right, up and down in turn; the timing column is left out. */
  fill(codewords: number[]): void {
    let at = 0;
    for (let right = this.size - 1; right >= 1; right -= 2) {
      if (right === 6) right = 5;
      for (let step = 0; step < this.size; step++) {
        const up = ((right + 1) & 2) === 0;
        const y = up ? this.size - 1 - step : step;
        for (const x of [right, right - 1]) {
          if (this.fixed[y]![x] || at >= codewords.length * 8) continue;
          this.modules[y]![x] = (codewords[at >>> 3]! >>> (7 - (at & 7))) & 1;
          at++;
        }
      }
    }
  }

  mask(mask: number): void {
    const inverts = MASKS[mask]!;
    for (const [y, row] of this.modules.entries()) {
      for (let x = 0; x < this.size; x++) if (!this.fixed[y]![x] && inverts(x, y)) row[x]! ^= 1;
    }
  }

  /** How hard it is to read, by the rules of the standard. */
  penalty(): number {
    const { modules, size } = this;
    const columns = modules.map((_, x) => modules.map((row) => row[x]!));
    let result = 0;
    for (const line of [...modules, ...columns]) {
      const text = Array.from(line).join('');
      for (const [run] of text.matchAll(/0{5,}|1{5,}/g)) result += run.length - 2;
      for (const _ of text.matchAll(/(?=00001011101|10111010000)/g)) result += 40;
    }
    for (let y = 1; y < size; y++) {
      for (let x = 1; x < size; x++) {
        const [a, b] = [modules[y]!, modules[y - 1]!];
        if (a[x] === a[x - 1] && a[x] === b[x] && a[x] === b[x - 1]) result += 3;
      }
    }
    const dark = modules.reduce((sum, row) => sum + row.reduce((all, one) => all + one, 0), 0);
    return result + 10 * Math.floor(Math.abs((dark * 20) / (size * size) - 10));
  }
}

const MASKS: ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

/** The modules of a text, row by row. A RangeError for one of more than 2,331 bytes. @public */
export function qr(text: string): boolean[][] {
  const bytes = new TextEncoder().encode(text);
  const version = CORRECTION.findIndex(
    (_, at) => 4 + (at + 1 < 10 ? 8 : 16) + bytes.length * 8 <= sizes(at + 1).data * 8,
  );
  if (version < 0) throw new RangeError('too long for a QR code');
  const drawing = new Drawing(version + 1);
  drawing.fill(codewordsOf(dataOf(bytes, version + 1), version + 1));
  let best = { mask: 0, penalty: Number.POSITIVE_INFINITY };
  for (let mask = 0; mask < MASKS.length; mask++) {
    drawing.format(mask);
    drawing.mask(mask);
    const penalty = drawing.penalty();
    if (penalty < best.penalty) best = { mask, penalty };
    drawing.mask(mask);
  }
  drawing.format(best.mask);
  drawing.mask(best.mask);
  return drawing.modules.map((row) => Array.from(row, (module) => module === 1));
}
