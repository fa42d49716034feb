/** Decides which output file each module goes into. */
interface Graph {
  getModuleInfo(id: string): { importedIds: readonly string[] } | null;
}

/** Returns the module and all modules that it imports statically, directly or not. */
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
 * Puts modules that the first page shares with any other page into one file, and the rest of the first page into another.
 * Many small files compress worse, and with the bundler's own choice each page would run code of the others.
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
