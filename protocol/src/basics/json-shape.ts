/** Limits the structure of JSON bodies: many small values take far longer to parse than a few long ones. */
import type { TSchema } from 'typebox';
import { limits } from './limits.ts';
import { RuleError } from './names.ts';

export interface JsonShape {
  /** Nesting of objects and arrays. */
  depth: number;
  /** Number of objects and arrays. */
  containers: number;
  /** Number of opening brackets and commas, which approximates the number of values. */
  marks: number;
}

/** The longest enc_params, which may be any JSON object. */
const ENC_PARAMS_BYTES = (limits.encParamsBase64Bytes / 4) * 3;
const ANY_OBJECT: JsonShape = {
  depth: ENC_PARAMS_BYTES / 2,
  containers: ENC_PARAMS_BYTES / 2,
  marks: ENC_PARAMS_BYTES,
};
const SCALAR: JsonShape = { depth: 0, containers: 0, marks: 0 };

/** Returns the largest structure that the schema allows, plus an allowance for unknown members. */
export function shapeOf(schema: TSchema): JsonShape {
  const { depth, containers, marks } = namedShape(schema as Schema);
  const { depth: moreDepth, values: more } = limits.unknownJson;
  return { depth: depth + moreDepth, containers: containers + more, marks: marks + more };
}

interface Schema {
  type?: string;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  items?: Schema;
  maxItems?: number;
  additionalProperties?: unknown;
}

function namedShape({ type, anyOf, properties, items, maxItems, additionalProperties }: Schema): JsonShape {
  const most = (list: number[]) => Math.max(0, ...list);
  const sum = (list: number[]) => list.reduce((total, each) => total + each, 0);
  if (anyOf) {
    const parts = anyOf.map(namedShape);
    return {
      depth: most(parts.map(({ depth }) => depth)),
      containers: most(parts.map(({ containers }) => containers)),
      marks: most(parts.map(({ marks }) => marks)),
    };
  }
  if (type === 'object' && additionalProperties === true) return ANY_OBJECT;
  if (type === 'array' && (maxItems === undefined || !items)) throw new TypeError('an array needs maxItems');
  if (type !== 'object' && type !== 'array') return SCALAR;
  const parts = Object.values(properties ?? { items: items! }).map(namedShape);
  const times = maxItems ?? 1;
  const members = type === 'array' ? times : parts.length;
  return {
    depth: 1 + most(parts.map(({ depth }) => depth)),
    containers: 1 + times * sum(parts.map(({ containers }) => containers)),
    marks: 1 + members + times * sum(parts.map(({ marks }) => marks)),
  };
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_BRACKET, OPEN_BRACE, CLOSE_BRACKET, CLOSE_BRACE] = [0x5b, 0x7b, 0x5d, 0x7d];

/** Counts the structure of a JSON text while its bytes arrive. JSON.parse checks the syntax later. */
export class JsonScan {
  readonly counts: JsonShape = { depth: 0, containers: 0, marks: 0 };
  readonly #most: JsonShape;
  #inString = false;
  #escaped = false;
  #depth = 0;

  constructor(most: JsonShape) {
    this.#most = most;
  }

  /** @throws RuleError as soon as the text exceeds a limit */
  read(bytes: Uint8Array): void {
    const { length } = bytes;
    for (let at = this.#inString ? this.#skipString(bytes, 0) : 0; at < length; at++) {
      const byte = bytes[at]!;
      if (byte === QUOTE) at = this.#skipString(bytes, at + 1) - 1;
      else if (byte === COMMA) this.#mark();
      else if (byte === OPEN_BRACKET || byte === OPEN_BRACE) this.#open();
      else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) this.#depth--;
    }
  }

  /** Returns the position after the string that contains `from`, or the end of the bytes. */
  #skipString(bytes: Uint8Array, from: number): number {
    const { length } = bytes;
    let at = this.#escaped ? from + 1 : from;
    if (from < length) this.#escaped = false;
    for (; at < length; at++) {
      const byte = bytes[at]!;
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) {
        this.#inString = false;
        return at + 1;
      }
    }
    this.#inString = true;
    // The byte after the last backslash has not arrived yet.
    this.#escaped ||= at > length;
    return length;
  }

  #mark(): void {
    if (++this.counts.marks > this.#most.marks) throw new RuleError('the JSON has too many values');
  }

  #open(): void {
    this.#mark();
    if (++this.counts.containers > this.#most.containers)
      throw new RuleError('the JSON has too many objects and arrays');
    if (++this.#depth > this.#most.depth) throw new RuleError('the JSON is nested too deeply');
    if (this.#depth > this.counts.depth) this.counts.depth = this.#depth;
  }
}
