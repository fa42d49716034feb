export interface Range {
  start: number;
  /** Exclusive. */
  end: number;
}

/**
 * Parses one byte range (RFC 9110). Returns undefined, which means the whole content, for no range, several ranges, or an invalid one
 * like `9-5`. 'unsatisfiable' means status 416.
 */
export function parseRange(
  header: string | null | undefined,
  size: number,
): Range | 'unsatisfiable' | undefined {
  // No two parts of this pattern may match the same blanks: a header full of blanks would cause catastrophic backtracking.
  const match = /^bytes=\s*(?:(\d+)\s*)?-\s*(?:(\d+)\s*)?$/i.exec(header ?? '');
  if (!match) return undefined;
  const [, from = '', to = ''] = match;
  if (from === '') {
    if (to === '') return undefined;
    const length = Number(to);
    return length === 0 || size === 0 ? 'unsatisfiable' : { start: Math.max(0, size - length), end: size };
  }
  const start = Number(from);
  if (to !== '' && Number(to) < start) return undefined;
  if (start >= size) return 'unsatisfiable';
  return { start, end: to === '' ? size : Math.min(size, Number(to) + 1) };
}
