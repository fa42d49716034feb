import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import {
  limits,
  type NewPasskeyRequest,
  type Passkey,
  type PasskeyAnswer,
  type PasskeyRequest,
  RuleError,
} from '@szafa/protocol';
import { ApiError } from '../platform/http/api-error.ts';
import { iso, isoOrNull } from '../platform/time.ts';
import type { PasskeyRow, UsedChallenge, UsedPasskey } from './factors-table.ts';
import { unusablePasskey } from './refusals.ts';

/** The algorithms that authenticators use: ES256, Ed25519, RS256. */
const ALGORITHMS = [-7, -8, -257];
const RSA_BYTES = 256;

/** A well-formed ES256 signature. For other kinds of keys it is simply wrong. */
const DUMMY_SIGNATURE = Uint8Array.of(0x30, 6, 2, 1, 1, 2, 1, 1);

/** Loads the library when the first passkey is checked: it takes a quarter of a second and 27 MB. */
const library = async () => ({
  ...(await import('@simplewebauthn/server')),
  ...(await import('@simplewebauthn/server/helpers')),
});

/** The purpose of a challenge (passkey login, second factor, new passkey), and the account if it is known yet. */
export interface ChallengeSubject {
  purpose: 'enter' | 'second' | 'add';
  accountId?: string | undefined;
}

const RANDOM_BYTES = 16;
const HEAD_BYTES = RANDOM_BYTES + 8;
const MAC_BYTES = 16;

/**
 * Challenges that authenticate themselves: random bytes, the expiry, and a MAC over both and the subject. Anybody can request
 * one, so nothing is stored until it is answered; answered challenges are stored until they expire, so that each is accepted
 * once (`usePasskey`). All nodes share the MAC secret through the database.
 */
export class Challenges {
  readonly #deps: { secret: () => Promise<string>; now: () => number };
  #secret: Promise<string> | undefined;

  constructor(secret: () => Promise<string>, now: () => number) {
    this.#deps = { secret, now };
  }

  async make(subject: ChallengeSubject): Promise<string> {
    const head = Buffer.alloc(HEAD_BYTES);
    randomBytes(RANDOM_BYTES).copy(head);
    head.writeBigUInt64BE(BigInt(this.#deps.now() + limits.passkeys.seconds * 1000), RANDOM_BYTES);
    return Buffer.concat([head, await this.#mac(head, subject)]).toString('base64url');
  }

  /** Returns the expiry; undefined if the challenge is not ours, is for another subject, or has expired. */
  async check(challenge: unknown, subject: ChallengeSubject): Promise<number | undefined> {
    if (typeof challenge !== 'string') return undefined;
    const bytes = Buffer.from(challenge, 'base64url');
    // A different base64url spelling of the same bytes would be accepted a second time.
    if (bytes.length !== HEAD_BYTES + MAC_BYTES || bytes.toString('base64url') !== challenge)
      return undefined;
    const head = bytes.subarray(0, HEAD_BYTES);
    if (!timingSafeEqual(bytes.subarray(HEAD_BYTES), await this.#mac(head, subject))) return undefined;
    const expiresAt = Number(head.readBigUInt64BE(RANDOM_BYTES));
    return expiresAt > this.#deps.now() ? expiresAt : undefined;
  }

  async #mac(head: Buffer, { purpose, accountId = '' }: ChallengeSubject): Promise<Buffer> {
    this.#secret ??= this.#deps.secret().catch((error: unknown) => {
      this.#secret = undefined;
      throw error;
    });
    const mac = createHmac('sha256', await this.#secret);
    return mac.update(`${purpose}\0${accountId}\0`).update(head).digest().subarray(0, MAC_BYTES);
  }
}

/** Creates requests for passkeys and verifies the answers. */
export class Passkeys {
  /** Origin of the web app as browsers see it. The Host header is never trusted for this. */
  readonly origin: string | undefined;
  readonly #challenges: Challenges;

  constructor(origin: string | undefined, challenges: Challenges) {
    this.origin = origin;
    this.#challenges = challenges;
  }

  async request(subject: ChallengeSubject, known: PasskeyRow[]): Promise<PasskeyRequest> {
    return {
      rp_id: new URL(this.requireOrigin()).hostname,
      challenge: await this.#challenges.make(subject),
      expires_in: limits.passkeys.seconds,
      passkeys: known.map(({ credential_id }) => credential_id),
    };
  }

  async requestNew(accountId: string, known: PasskeyRow[]): Promise<NewPasskeyRequest> {
    return { ...(await this.request({ purpose: 'add', accountId }, known)), user_id: handleOf(accountId) };
  }

  /** Reads and verifies a new passkey of this account from its attestation. */
  async read(accountId: string, { client_data, attestation }: { client_data: string; attestation: string }) {
    const origin = this.requireOrigin();
    const answered = await this.#readChallenge(client_data, { purpose: 'add', accountId });
    if (!answered) throw unusablePasskey();
    const { cose, decodeAttestationObject, decodeCredentialPublicKey, ...webauthn } = await library();
    try {
      const bytes = new Uint8Array(Buffer.from(attestation, 'base64url'));
      const { id, isPlain } = describe(decodeAttestationObject(bytes));
      // The library would fetch URLs named in certificates, and the maker of the authenticator does not matter here.
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
      // A key that cannot verify any signature would lock the account for good.
      const signed = { signature: DUMMY_SIGNATURE, data: bytes, credentialPublicKey: publicKey };
      await webauthn.verifySignature(signed);
      const public_key = Buffer.from(publicKey).toString('base64url');
      return { credential_id: credential.id, public_key, counter, ...answered };
    } catch (cause) {
      if (cause instanceof RuleError) throw cause;
      // The library throws a TypeError for some malformed input.
      throw unusablePasskey(cause);
    }
  }

  /**
   * Returns undefined if the answer is wrong. `userVerified`: the authenticator must have verified its user by fingerprint,
   * PIN or the like.
   */
  async verify(
    { id, client_data, authenticator_data, signature, user_handle }: PasskeyAnswer,
    row: PasskeyRow,
    subject: ChallengeSubject,
    { userVerified }: { userVerified: boolean },
  ): Promise<UsedPasskey | undefined> {
    const origin = this.requireOrigin();
    if (id !== row.credential_id) return undefined;
    if (user_handle !== undefined && user_handle !== handleOf(row.account_id)) return undefined;
    const answered = await this.#readChallenge(client_data, subject);
    if (!answered) return undefined;
    const { verifyAuthenticationResponse } = await library();
    try {
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
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
        requireUserVerification: userVerified,
      });
      return verified ? { credentialId: id, counter: authenticationInfo.newCounter, ...answered } : undefined;
    } catch {
      return undefined;
    }
  }

  /** Returns the signed challenge if it is ours and for this subject, and the page was not embedded in another one. */
  async #readChallenge(clientData: string, subject: ChallengeSubject): Promise<UsedChallenge | undefined> {
    const { challenge, crossOrigin } = parseClientData(clientData);
    const expiresAt = await this.#challenges.check(challenge, subject);
    return expiresAt === undefined || crossOrigin === true
      ? undefined
      : { challenge: String(challenge), expiresAt };
  }

  requireOrigin(): string {
    if (this.origin === undefined)
      throw new ApiError(404, 'passkeys are not offered here: the server does not know its own address');
    return this.origin;
  }
}

/** Returns an empty object if the text cannot be parsed. */
function parseClientData(clientData: string): { challenge?: unknown; crossOrigin?: unknown } {
  try {
    return Object(JSON.parse(Buffer.from(clientData, 'base64url').toString()));
  } catch {
    return {};
  }
}

type Attestation = ReturnType<typeof import('@simplewebauthn/server/helpers').decodeAttestationObject>;

/** In `authData` the id follows 37 bytes of fixed fields, 16 bytes of authenticator model and 2 bytes of id length. */
function describe(object: Attestation): { id: string; isPlain: boolean } {
  const data = Buffer.from(object.get('authData'));
  const id = data.subarray(55, 55 + data.readUInt16BE(53)).toString('base64url');
  const format = object.get('fmt');
  return { id, isPlain: format === 'none' || (format === 'packed' && !object.get('attStmt').get('x5c')) };
}

/** The user handle by which authenticators tell accounts apart. It is neither secret nor a name. */
const handleOf = (accountId: string) => Buffer.from(accountId, 'hex').toString('base64url');

export const toPasskey = ({ credential_id, name, alone, created_at, used_at }: PasskeyRow): Passkey => ({
  id: credential_id,
  name,
  alone: alone === 1,
  created_at: iso(created_at),
  used_at: isoOrNull(used_at),
});
