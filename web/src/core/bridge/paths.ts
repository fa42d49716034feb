/** Removes trailing slashes. A regular expression could run for minutes on a path from a hostile link. */
export function withoutSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end--;
  return path.slice(0, end);
}
