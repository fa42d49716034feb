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
 * What the first page shares with another is one file, and what else it is made of another one: many small files are larger together,
 * and left to the bundler each page would run parts of the others.
 */
export function chunksOf(first: string, ...others: string[]) {
  let sets: { first: Set<string>; others: Set<string> } | undefined;
  const isOf = (page: 'first' | 'others', id: string, graph: Graph) => {
    sets ??= {
      first: neededBy(first, graph),
      others: new Set(others.flatMap((entry) => [...neededBy(entry, graph)])),
    };
    return sets[page].has(id);
  };
  const isCommon = (id: string, graph: Graph) => isOf('first', id, graph) && isOf('others', id, graph);
  return [
    { name: (id: string, graph: Graph) => (isCommon(id, graph) ? 'common' : null), priority: 2 },
    { name: (id: string, graph: Graph) => (isOf('first', id, graph) ? 'app' : null), priority: 1 },
  ];
}
