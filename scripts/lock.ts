interface Locked {
  version?: string;
  optionalDependencies?: Record<string, string>;
  os?: string[];
  engines?: unknown;
}

/**
 * Finds optional packages that npm would silently omit. Packages with platform-specific parts list them as optional dependencies. npm
 * omits a part from the lock if it was not found, and from an installation if `engines` excludes the Node that runs npm. We run them
 * with the pinned Node, so the lock must not have `engines` for them.
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
