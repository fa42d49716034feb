import fc from 'fast-check';

const SURROGATES = 0x800;
const FIRST_SURROGATE = 0xd800;
const LAST_POINT = 0x10ffff;

const point = fc.oneof(
  fc.integer({ min: 0, max: 0x7f }),
  fc.integer({ min: 0, max: LAST_POINT - SURROGATES }),
);

/** Generates any Unicode text. The units of fast-check would first build a table of all characters, which takes over a second. */
export const anyText = (maxLength: number): fc.Arbitrary<string> =>
  fc
    .array(point, { maxLength })
    .map((points) => String.fromCodePoint(...points.map((p) => (p < FIRST_SURROGATE ? p : p + SURROGATES))));
