/**
 * The one rule for new passwords and passphrases, in the page and the command. An entry of its own, `@szafa/client/strength`:
 * the estimate brings lists of common passwords along, half a megabyte that only a registration needs.
 */

/** In characters, for a secret of this client. What the service gets is derived from it, and obeys the service's rule. @public */
export const SECRET_CHARS = { min: 8, max: 1024 };

/** Guesses that must be needed, as a power of ten: months for a machine that tries a thousand of these Argon2id a second. */
const LEAST_GUESSES_LOG10 = 10;

/** Why a new secret is refused. @public */
export type Weakness = 'short' | 'long' | 'guessable';

type Check = (secret: string, about: string[]) => { guessesLog10: number };
let estimator: Promise<Check> | undefined;

async function makeEstimator(): Promise<Check> {
  const [{ ZxcvbnFactory }, { adjacencyGraphs, dictionary }] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
  ]);
  const zxcvbn = new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
  return (secret, about) => zxcvbn.check(secret, about);
}

/** Why a new secret is refused; undefined when it is not. `about` is what a guesser would try first, as the username. @public */
export async function weaknessOf(secret: string, about: string[]): Promise<Weakness | undefined> {
  const text = secret.normalize('NFC');
  const length = Array.from(text).length;
  if (length < SECRET_CHARS.min) return 'short';
  if (length > SECRET_CHARS.max) return 'long';
  estimator ??= makeEstimator();
  try {
    const { guessesLog10 } = (await estimator)(text, [...about, 'szafa']);
    return guessesLog10 < LEAST_GUESSES_LOG10 ? 'guessable' : undefined;
  } catch (error) {
    estimator = undefined; // a part that could not be loaded may be there the next time
    throw error;
  }
}
