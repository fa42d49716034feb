import {
  limits,
  type NewPasskeyRequest,
  type Passkey,
  type PasskeyAnswer,
  type PasskeyRequest,
  RuleError,
} from '@szafa/protocol';
import { ApiError } from '../platform/http/api-error.ts';
import { type Asked, Challenges } from './challenges.ts';
import type { NewPasskey, PasskeyRow, UsedPasskey } from './passkeys-table.ts';

/** The keys that authenticators make: ES256, Ed25519, RS256. */
const ALGORITHMS = [-7, -8, -257];
const RSA_BYTES = 256;

/** A signature in the form of ES256, of nothing: for other kinds of keys it is just a wrong one. */
const NOBODYS = Uint8Array.of(0x30, 6, 2, 1, 1, 2, 1, 1);

/** A quarter of a second and 27 MB: loaded by whoever first checks a passkey. */
const library = async () => ({
  ...(await import('@simplewebauthn/server')),
  ...(await import('@simplewebauthn/server/helpers')),
});

/** A challenge that was signed, and when it could not be answered any more anyhow. */
type Answered = Pick<UsedPasskey, 'challenge' | 'until'>;

type ReadPasskey = Pick<NewPasskey, 'credential_id' | 'public_key' | 'counter'> & Answered;

interface Options {
  /** Where the page is, as its users' browsers name it. Host says whatever a client likes, and is never asked. */
  origin: string | undefined;
  secret: () => Promise<string>;
  now: () => number;
}

/** What passkeys are asked, and whether they answer well. */
export class Passkeys {
  readonly origin: string | undefined;
  readonly #challenges: Challenges;

  constructor({ origin, secret, now }: Options) {
    this.origin = origin;
    this.#challenges = new Challenges(secret, now);
  }

  /** Undefined where no passkey can be used: the server does not know its own address. */
  async request(asked: Asked, known: PasskeyRow[]): Promise<PasskeyRequest | undefined> {
    if (this.origin === undefined) return undefined;
    return {
      challenge: await this.#challenges.make(asked),
      rp_id: new URL(this.origin).hostname,
      expires_in: limits.passkeys.seconds,
      passkeys: known.map(({ credential_id }) => credential_id),
    };
  }

  async requestNew(accountId: string, known: PasskeyRow[]): Promise<NewPasskeyRequest | undefined> {
    const request = await this.request({ purpose: 'add', accountId }, known);
    return request && { ...request, user_id: handleOf(accountId) };
  }

  /** A new passkey of this account, as its authenticator describes it. */
  async read(
    accountId: string,
    { client_data, attestation }: { client_data: string; attestation: string },
  ): Promise<ReadPasskey> {
    const origin = this.require();
    const answered = await this.#answered(client_data, { purpose: 'add', accountId });
    if (!answered) throw notMadeNow();
    const { cose, decodeAttestationObject, decodeCredentialPublicKey, ...webauthn } = await library();
    try {
      const bytes = new Uint8Array(Buffer.from(attestation, 'base64url'));
      const { id, isPlain } = describe(decodeAttestationObject(bytes));
      // Certificates would be followed to addresses that they name, and nobody here asks who made an authenticator.
      if (!isPlain)
        throw new RuleError('attestation: its format must be none, or packed without certificates');
      const { registrationInfo } = await webauthn.verifyRegistrationResponse({
        response: {
          ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} },
          response: { clientDataJSON: client_data, attestationObject: attestation },
        },
        expectedChallenge: answered.challenge,
        expectedOrigin: origin,
        expectedRPID: new URL(origin).hostname,
        requireUserVerification: false,
        supportedAlgorithmIDs: ALGORITHMS,
      });
      const { credential } = registrationInfo!;
      const { publicKey, counter } = credential;
      if (publicKey.length > limits.passkeys.publicKeyBytes)
        throw new RuleError('the public key is too long');
      const key = decodeCredentialPublicKey(publicKey);
      if (cose.isCOSEPublicKeyRSA(key) && key.get(cose.COSEKEYS.n)!.length < RSA_BYTES)
        throw new RuleError(`an RSA key must have at least ${RSA_BYTES * 8} bits`);
      if (credential.id.length > limits.passkeys.idChars) throw new RuleError('the id is too long');
      // Nobody has signed anything yet: a key that can check no signature would close the account for good.
      await webauthn.verifySignature({ signature: NOBODYS, data: bytes, credentialPublicKey: publicKey });
      const public_key = Buffer.from(publicKey).toString('base64url');
      return { credential_id: credential.id, public_key, counter, ...answered };
    } catch (cause) {
      if (cause instanceof RuleError) throw cause;
      // Whatever the library finds; it also answers nonsense with a TypeError.
      throw notMadeNow(cause);
    }
  }

  /** What an answer is good for, once; undefined where it is not. `verified`: only if the user was, by a finger or a PIN. */
  async verify(
    { id, client_data, authenticator_data, signature, user_handle }: PasskeyAnswer,
    row: PasskeyRow,
    asked: Asked,
    { verified }: { verified: boolean },
  ): Promise<UsedPasskey | undefined> {
    const origin = this.require();
    if (id !== row.credential_id) return undefined;
    if (user_handle !== undefined && user_handle !== handleOf(row.account_id)) return undefined;
    const answered = await this.#answered(client_data, asked);
    if (!answered) return undefined;
    const { verifyAuthenticationResponse } = await library();
    try {
      const { verified: right, authenticationInfo } = await verifyAuthenticationResponse({
        response: {
          ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} },
          response: { clientDataJSON: client_data, authenticatorData: authenticator_data, signature },
        },
        expectedChallenge: answered.challenge,
        expectedOrigin: origin,
        expectedRPID: new URL(origin).hostname,
        credential: {
          id,
          publicKey: new Uint8Array(Buffer.from(row.public_key, 'base64url')),
          counter: row.counter,
        },
        requireUserVerification: verified,
      });
      return right ? { credentialId: id, counter: authenticationInfo.newCounter, ...answered } : undefined;
    } catch {
      return undefined;
    }
  }

  /** The challenge that was signed, where it is one of ours for this, and the page was not shown inside another one's. */
  async #answered(clientData: string, asked: Asked): Promise<Answered | undefined> {
    const { challenge, crossOrigin } = parse(clientData);
    const until = await this.#challenges.check(challenge, asked);
    return until === undefined || crossOrigin === true ? undefined : { challenge: String(challenge), until };
  }

  /** The page's address, where the server knows it. */
  require(): string {
    if (this.origin === undefined)
      throw new ApiError(404, 'passkeys are not offered here: the server does not know its own address');
    return this.origin;
  }
}

export const notMadeNow = (cause?: unknown) =>
  new ApiError(400, 'this is no passkey that was made for this page and account just now', { cause });

/** What the browser says that it asked the authenticator; nothing where that is nonsense. */
function parse(clientData: string): { challenge?: unknown; crossOrigin?: unknown } {
  try {
    return Object(JSON.parse(Buffer.from(clientData, 'base64url').toString()));
  } catch {
    return {};
  }
}

type Attestation = ReturnType<typeof import('@simplewebauthn/server/helpers').decodeAttestationObject>;

/** The id comes before everything else: behind 37 bytes of the authenticator's data, 16 of its kind and 2 of its length. */
function describe(object: Attestation): { id: string; isPlain: boolean } {
  const data = Buffer.from(object.get('authData'));
  const id = data.subarray(55, 55 + data.readUInt16BE(53)).toString('base64url');
  const format = object.get('fmt');
  return { id, isPlain: format === 'none' || (format === 'packed' && !object.get('attStmt').get('x5c')) };
}

/** By which authenticators tell accounts apart; it is no secret, and no name. */
const handleOf = (accountId: string) => Buffer.from(accountId, 'hex').toString('base64url');

export const listed = ({ credential_id, name, alone, created_at, used_at }: PasskeyRow): Passkey => ({
  id: credential_id,
  name,
  alone: alone === 1,
  created_at: new Date(created_at).toISOString(),
  used_at: used_at === null ? null : new Date(used_at).toISOString(),
});
