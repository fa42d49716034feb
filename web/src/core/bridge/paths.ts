/** A path without what marks it as a folder. Whoever made the link chose it: a pattern would take minutes for some. */
export function withoutSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end--;
  return path.slice(0, end);
}
