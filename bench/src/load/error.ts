/** The server did not answer, or not with a success. */
export class LoadError extends Error {
  override name = 'LoadError';
}
