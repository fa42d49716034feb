/** Removes trailing slashes. Not by a regular expression, which would run for minutes on paths in a hostile link. */
export function withoutSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end--;
  return path.slice(0, end);
}
