/** Removes slashes at the end. Link authors choose these paths, and a regular expression would take minutes for some. */
export function withoutSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end--;
  return path.slice(0, end);
}
