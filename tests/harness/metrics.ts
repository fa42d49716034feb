/** Returns the value of every series. */
export function parseMetrics(text: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const line of text.trim().split('\n')) {
    if (line.startsWith('#')) continue;
    const cut = line.lastIndexOf(' ');
    found.set(line.slice(0, cut), Number(line.slice(cut + 1)));
  }
  return found;
}
