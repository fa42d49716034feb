/** Which file a module goes into. */
interface Graph {
  getModuleInfo(id: string): { importedIds: readonly string[] } | null;
}

/** All that a module needs before it runs. */
function neededBy(entry: string, graph: Graph): Set<string> {
  const found = new Set<string>();
  const left = [entry];
  for (let id = left.pop(); id !== undefined; id = left.pop()) {
    if (found.has(id)) continue;
    found.add(id);
    left.push(...(graph.getModuleInfo(id)?.importedIds ?? []));
  }
  return found;
}

/**
 * What two pages share is one file, and what else the first of them is made of another: many small files are larger together, and
 * left to the bundler each page would run parts of the other.
 */
export function chunksOf(first: string, second: string) {
  let sets: [Set<string>, Set<string>] | undefined;
  const isOf = (id: string, graph: Graph) => {
    sets ??= [neededBy(first, graph), neededBy(second, graph)];
    return sets.map((set) => set.has(id));
  };
  return [
    { name: (id: string, graph: Graph) => (isOf(id, graph).every(Boolean) ? 'common' : null), priority: 2 },
    { name: (id: string, graph: Graph) => (isOf(id, graph)[0] ? 'app' : null), priority: 1 },
  ];
}
