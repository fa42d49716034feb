interface Locked {
  version?: string;
  optionalDependencies?: Record<string, string>;
}

/**
 * Packages with a part for each platform name these as optional. npm leaves out of the lock those that it could not
 * find when it was made, and says nothing: on such a machine the package would be there and not work.
 */
export function lockFaults(lock: string): string[] {
  const { packages } = JSON.parse(lock) as {
    packages: Record<string, Locked>;
  };
  return Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !packages[`${path}/node_modules/${name}`] && !packages[`node_modules/${name}`])
      .map((name) => `package-lock.json: ${name}, which ${path || 'the workspace'} names, is not locked`),
  );
}
