export interface Range {
  start: number;
  /** Not included. */
  end: number;
}

/**
 * One byte range (RFC 9110), for whoever sends bytes: service, pull server and page. Undefined for none, several or an
 * invalid one as `9-5`: these are ignored, and the whole is sent. 'unsatisfiable' is 416.
 */
export function parseRange(
  header: string | null | undefined,
  size: number,
): Range | 'unsatisfiable' | undefined {
  // Nowhere can two of the patterns take the same blanks: a header full of them would be tried in millions of ways.
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
