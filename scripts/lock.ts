interface Locked {
  version?: string;
  optionalDependencies?: Record<string, string>;
  os?: string[];
  engines?: unknown;
}

/**
 * Packages with a part for each platform name these as optional, and npm leaves optional packages out without a word:
 * out of the lock those that it could not find when it was made, out of an installation those whose `engines` exclude the Node
 * that runs npm. Here the pinned Node runs them, so the lock holds no `engines` for them.
 */
export function lockFaults(lock: string): string[] {
  const { packages } = JSON.parse(lock) as {
    packages: Record<string, Locked>;
  };
  return Object.entries(packages).flatMap(([path, { optionalDependencies = {}, os, engines }]) => [
    ...Object.keys(optionalDependencies)
      .filter((name) => !packages[`${path}/node_modules/${name}`] && !packages[`node_modules/${name}`])
      .map((name) => `package-lock.json: ${name}, which ${path || 'the workspace'} names, is not locked`),
    ...(os && engines
      ? [`package-lock.json: remove "engines" of ${path}: npm on an older Node would not install it`]
      : []),
  ]);
}
