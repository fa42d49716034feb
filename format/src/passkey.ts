import { type Bytes, utf8 } from './bytes.ts';
import { type Engine, labels } from './engine.ts';
import { type AccountName, accountSalt } from './keys.ts';

/** Of what an authenticator makes of `PRF_INPUT`. */
const PRF_BYTES = 32;

/**
 * What every passkey is asked to make a secret of (the PRF extension of WebAuthn). The same for all: whoever comes in has said no
 * name yet, and each passkey makes another secret of it. @public
 */
export const PRF_INPUT: Bytes = utf8(labels.prf);

/** What opens the entry of a passkey in the key bag. The account's salt is in it, as with a recovery key. @public */
export async function derivePasskeyKek(engine: Engine, account: AccountName, secret: Bytes): Promise<Bytes> {
  if (secret.length !== PRF_BYTES) throw new TypeError('an authenticator makes 32 bytes');
  return engine.hkdf(secret, await accountSalt(engine, account), utf8(labels.passkeyKek), 32);
}
