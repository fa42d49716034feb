/**
 * The rule for new passwords and passphrases. It has its own entry point, `@szafa/client/strength`, because the estimate loads half a
 * megabyte of common passwords.
 */

/**
 * Length of a password or passphrase in characters. The server never sees it: the derived secret follows the server's own rule. @public
 */
export const SECRET_CHARS = { min: 8, max: 1024 };

/** Required number of guesses, as a power of ten: about four months at a thousand Argon2id hashes per second. */
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

/**
 * Returns why a new secret is refused; undefined if it is accepted.
 * @param about words that a guesser would try first, such as the username @public
 */
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
    estimator = undefined; // retry the import next time
    throw error;
  }
}
