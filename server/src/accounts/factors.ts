import {
  cleanDevice,
  type Factors as FactorsOf,
  limits,
  type NewPasskeyBody,
  type NewPasskeyRequest,
  type PasskeyEntry,
  type PasskeyRequest,
  type RemovePasskeyBody,
  RuleError,
  type Session,
  type TotpBody,
  type TotpOffBody,
} from '@szafa/protocol';
import type { Metadata } from '../metadata.ts';
import { ApiError } from '../platform/http/api-error.ts';
import { hashToken } from '../platform/ids.ts';
import { conditionMissing, type KeysCondition, otherKeys, tagOf } from './key-bags.ts';
import { listed, notMadeNow, type Passkeys } from './passkeys.ts';
import { type Origin, type Proof, type Proven, wrongCode } from './proof.ts';
import { type Caller, opening, requireRegistered } from './sessions.ts';
import { stepOf } from './totp.ts';

interface Parts {
  metadata: Metadata;
  proof: Proof;
  passkeys: Passkeys;
  now: () => number;
}

/** What an account is proven by beside its password, and passkeys that do without it. */
export class Factors {
  readonly #metadata: Metadata;
  readonly #proof: Proof;
  readonly #passkeys: Passkeys;
  readonly #now: () => number;

  constructor({ metadata, proof, passkeys, now }: Parts) {
    this.#metadata = metadata;
    this.#proof = proof;
    this.#passkeys = passkeys;
    this.#now = now;
  }

  async of({ username, accountId }: Caller): Promise<FactorsOf> {
    requireRegistered(username);
    const account = await this.#metadata.accounts.credentials(username);
    return {
      totp: typeof account?.totp_secret === 'string',
      passkeys: (await this.#metadata.passkeys.list(accountId)).map(listed),
      passkeys_offered: this.#passkeys.origin !== undefined,
    };
  }

  /** From now on a login asks for a code; that the client makes right ones is shown by the first. */
  async setTotp({ username }: Caller, { password, secret, code }: TotpBody, origin: Origin): Promise<void> {
    await this.#proven(username, password, origin, async ({ account, hash }) => {
      const present = new ApiError(409, 'codes are on already; turn them off first');
      if (account.totp_secret !== null) throw present;
      const step = stepOf(secret, code, this.#now());
      if (step === undefined) throw wrongCode(403, 'the code is wrong; is the clock of the device right?');
      const by = { username, proven: hash, now: this.#now() };
      if (!(await this.#metadata.factors.setTotp({ secret, step }, by))) throw present;
    });
  }

  /** By whichever second factor: one that opens the account may say what opens it. */
  async removeTotp(
    { username }: Caller,
    { password, code, passkey }: TotpOffBody,
    origin: Origin,
  ): Promise<void> {
    requireRegistered(username);
    const off = new ApiError(404, 'codes are not on');
    const before = await this.#metadata.accounts.credentials(username);
    if (typeof before?.totp_secret !== 'string') throw off;
    await this.#proof.of({ username, secret: password, factor: { code, passkey } }, origin, {
      wrong: new ApiError(403, 'wrong password'),
      right: async ({ account, hash, used }) => {
        if (!used || account.totp_secret === null) throw off;
        const by = { username, proven: hash, now: this.#now() };
        if (!(await this.#metadata.factors.removeTotp(used, by)))
          throw await this.#proof.refusal(account, 403);
      },
    });
  }

  /** What a passkey is asked by which somebody comes in whose name is not known yet. */
  async challenge(): Promise<PasskeyRequest> {
    this.#passkeys.require();
    return (await this.#passkeys.request({ purpose: 'enter' }, []))!;
  }

  /** With a passkey alone. Ids are found by nobody who does not have the passkey: there is no name to be tried. */
  async enter({ passkey, device }: PasskeyEntry, origin: Origin): Promise<Session> {
    this.#passkeys.require();
    const { session, token } = opening({ ...(device !== undefined && { device }) });
    const opened = await this.#proof.ofPasskey(passkey, origin, (row, used) =>
      this.#metadata.passkeys.openSession(row, used, session, this.#now()),
    );
    return { ...opened, token };
  }

  async requestNew({ username, accountId }: Caller): Promise<NewPasskeyRequest> {
    requireRegistered(username);
    this.#passkeys.require();
    const known = await this.#metadata.passkeys.list(accountId);
    return (await this.#passkeys.requestNew(accountId, known))!;
  }

  /** From now on a login needs it, or another second factor; with keys that it opens it also comes in by itself. */
  async add(
    { username, accountId }: Caller,
    { password, name: given, keys, ...made }: NewPasskeyBody,
    condition: KeysCondition,
    origin: Origin,
  ): Promise<{ id: string; tag: string | undefined }> {
    requireRegistered(username);
    this.#passkeys.require();
    const name = cleanDevice(given);
    if (name === '') throw new RuleError('name is empty');
    return this.#proven(username, password, origin, async ({ account, hash }) => {
      if (account.account_id !== accountId) throw changed();
      const change = keysChange(account.keys, keys, condition);
      const passkey = await this.#passkeys.read(accountId, made);
      const result = await this.#metadata.passkeys.add(
        { ...passkey, name, alone: keys === undefined ? 0 : 1 },
        { username, proven: hash, now: this.#now() },
        change,
        limits.passkeys.most,
      );
      if (result === 'changed') throw changed();
      if (result === 'answered') throw notMadeNow();
      if (result === 'taken') throw new ApiError(409, 'this passkey has been added already');
      if (result === 'too many') throw new ApiError(409, 'you have too many passkeys; remove some of them');
      return { id: passkey.credential_id, tag: keys && tagOf(keys) };
    });
  }

  /** The tag of the keys, where others came along. */
  async remove(
    { username, token }: Caller,
    id: string,
    { password, keys }: RemovePasskeyBody,
    condition: KeysCondition,
    origin: Origin,
  ): Promise<string | undefined> {
    return this.#proven(username, password, origin, async ({ account, hash }) => {
      const change = keysChange(account.keys, keys, condition);
      const by = { username, proven: hash, now: this.#now(), tokenHash: hashToken(token) };
      const result = await this.#metadata.passkeys.remove(id, by, change);
      if (result === 'changed') throw changed();
      if (result === 'no passkey') throw new ApiError(404, 'you have no such passkey');
      return keys && tagOf(keys);
    });
  }

  /** Goes on if the password is right; the session has shown the second factor. */
  async #proven<T>(
    username: string,
    password: string,
    origin: Origin,
    right: (proven: Proven) => Promise<T>,
  ): Promise<T> {
    requireRegistered(username);
    const wrong = new ApiError(403, 'wrong password');
    return this.#proof.of({ username, secret: password }, origin, { wrong, right });
  }
}

function keysChange(
  present: string | null,
  keys: string | undefined,
  { fits, isMissing }: KeysCondition,
): { keys: string | undefined; expected: string | undefined } {
  const expected = present ?? undefined;
  if (keys !== undefined && isMissing) throw conditionMissing();
  if (keys !== undefined && (expected === undefined || !fits(tagOf(expected)))) throw otherKeys(expected);
  return { keys, expected };
}

const changed = () =>
  new ApiError(412, 'the password or the keys of this account have been changed meanwhile');
