/** The first range of a Range header; undefined for none, null for one that cannot be met. */
export function parseRange(
  header: string | null,
  size: number,
): { from: number; to: number } | null | undefined {
  const found = header && /^bytes=(\d*)-(\d*)$/.exec(header.trim());
  if (!found || (found[1] === '' && found[2] === '')) return undefined;
  const [, first = '', last = ''] = found;
  const from = first === '' ? Math.max(0, size - Number(last)) : Number(first);
  const to = first === '' || last === '' ? size : Math.min(size, Number(last) + 1);
  return from < to ? { from, to } : null;
}
