/** The server answered with something else than a plain success, or not at all. */
export class LoadError extends Error {
  override name = 'LoadError';
}
