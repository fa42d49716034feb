export interface Range {
  start: number;
  /** Not included. */
  end: number;
}

/**
 * Parses one byte range (RFC 9110). Undefined for none, several, or an invalid one like `9-5`, which are ignored: the whole is sent then.
 * 'unsatisfiable' is 416.
 */
export function parseRange(
  header: string | null | undefined,
  size: number,
): Range | 'unsatisfiable' | undefined {
  // No two parts of the pattern match the same blanks: otherwise a header full of them would backtrack millions of times.
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
