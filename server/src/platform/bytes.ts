/** Sizes as people write and read them: 1K is 1,024 bytes. */

const FACTORS: Record<string, number> = { '': 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3, T: 1024 ** 4 };
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** Reads `1500`, `20M` or `10G`; undefined if the text has another form or the number is too large to be exact. */
export function parseBytes(text: string): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,16})([KMGT]?)$/i.exec(text) ?? [];
  const value = digits === undefined ? Number.NaN : Number(digits) * FACTORS[unit.toUpperCase()]!;
  return Number.isSafeInteger(value) ? value : undefined;
}

export function formatBytes(bytes: number): string {
  let [value, unit] = [bytes, 0];
  for (; value >= 1023.95 && unit < UNITS.length - 1; unit++) value /= 1024;
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 2 : 1)} ${UNITS[unit]}`;
}
