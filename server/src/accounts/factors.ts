import {
  cleanDevice,
  type Factors as FactorList,
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
import { stepOf } from '../platform/totp.ts';
import { conditionMissing, type KeysCondition, keysChanged, tagOf } from './key-bag.ts';
import { type LoginAddress, type LoginCheck, wrongCode } from './login-check.ts';
import { type Passkeys, toPasskey } from './passkeys.ts';
import { accountChanged } from './refusals.ts';
import { type Caller, newSession, requireRegistered } from './sessions.ts';

interface Deps {
  metadata: Metadata;
  loginCheck: LoginCheck;
  passkeys: Passkeys;
  now: () => number;
}

/** The second factors of an account, and passkeys that can sign in without its password. */
export class Factors {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async list({ username, accountId }: Caller): Promise<FactorList> {
    const { metadata, passkeys } = this.#deps;
    requireRegistered(username);
    const account = await metadata.accounts.credentials(username);
    return {
      totp: typeof account?.totp_secret === 'string',
      passkeys: (await metadata.passkeys.list(accountId)).map(toPasskey),
      passkeys_offered: passkeys.origin !== undefined,
    };
  }

  /** Requires a code at each login from now on. The first code proves that the client generates correct ones. */
  async setTotp(caller: Caller, { password, secret, code }: TotpBody, address: LoginAddress): Promise<void> {
    const { metadata, loginCheck, now } = this.#deps;
    await loginCheck.checkPassword(caller, password, address, async ({ account, before }) => {
      const isOn = new ApiError(409, 'codes are on already; turn them off first');
      if (account.totp_secret !== null) throw isOn;
      const step = stepOf(secret, code, now());
      if (step === undefined)
        throw wrongCode(403, 'the code is wrong; check the clock of the device that made it');
      if (!(await metadata.factors.setTotp({ secret, step }, { ...before, now: now() }))) throw isOn;
    });
  }

  /** Turns codes off. Any second factor of the account is accepted, because any of them opens the account. */
  async removeTotp({ username }: Caller, { password, code, passkey }: TotpOffBody, address: LoginAddress) {
    const { metadata, loginCheck, now } = this.#deps;
    requireRegistered(username);
    const isOff = new ApiError(404, 'codes are not on');
    const before = await metadata.accounts.credentials(username);
    if (typeof before?.totp_secret !== 'string') throw isOff;
    const attempt = { username, secret: password, factor: { code, passkey } };
    const wrong = new ApiError(403, 'wrong password');
    await loginCheck.checkSecret(attempt, address, wrong, async ({ account, before, used }) => {
      if (!used || account.totp_secret === null) throw isOff;
      if (!(await metadata.factors.removeTotp(used, { ...before, now: now() })))
        throw await loginCheck.usedFactorError(account, 403);
    });
  }

  /** Returns a challenge for a passkey login; the account is not known yet. */
  challenge(): Promise<PasskeyRequest> {
    return this.#deps.passkeys.request({ purpose: 'enter' }, []);
  }

  async loginWithPasskey({ passkey, device }: PasskeyEntry, address: LoginAddress): Promise<Session> {
    const { metadata, loginCheck, passkeys, now } = this.#deps;
    passkeys.requireOrigin();
    const { session, token } = newSession(device);
    const account = await loginCheck.checkPasskey(passkey, address, (row, used) =>
      metadata.passkeys.openSession(row, used, session, now()),
    );
    return { ...account, token };
  }

  async requestNewPasskey({ username, accountId }: Caller): Promise<NewPasskeyRequest> {
    const { metadata, passkeys } = this.#deps;
    requireRegistered(username);
    return passkeys.requestNew(accountId, await metadata.passkeys.list(accountId));
  }

  /** Adds the passkey as a second factor. If `keys` has an entry for it, it can also sign in without the password. */
  async addPasskey(
    caller: Caller,
    { password, name: given, keys, ...created }: NewPasskeyBody,
    condition: KeysCondition,
    address: LoginAddress,
  ): Promise<{ id: string; tag: string | undefined }> {
    const { metadata, loginCheck, passkeys, now } = this.#deps;
    const { username, accountId } = caller;
    requireRegistered(username);
    passkeys.requireOrigin();
    const name = cleanDevice(given);
    if (name === '') throw new RuleError('name is empty');
    return loginCheck.checkPassword(caller, password, address, async ({ account, before }) => {
      if (account.account_id !== accountId) throw accountChanged();
      checkKeys(before.keys, keys, condition);
      const passkey = {
        ...(await passkeys.read(accountId, created)),
        name,
        alone: keys === undefined ? 0 : 1,
      };
      await metadata.passkeys.add(passkey, { ...before, now: now() }, keys);
      return { id: passkey.credential_id, tag: keys && tagOf(keys) };
    });
  }

  /** Returns the new ETag if the request replaced the key bag. */
  async removePasskey(
    caller: Caller,
    id: string,
    { password, keys }: RemovePasskeyBody,
    condition: KeysCondition,
    address: LoginAddress,
  ): Promise<string | undefined> {
    const { metadata, loginCheck, now } = this.#deps;
    return loginCheck.checkPassword(caller, password, address, async ({ before }) => {
      checkKeys(before.keys, keys, condition);
      const by = { ...before, now: now(), tokenHash: hashToken(caller.token) };
      await metadata.passkeys.remove(id, by, keys);
      return keys && tagOf(keys);
    });
  }
}

/** Checks the precondition of a change of passkeys that also replaces the key bag. */
function checkKeys(present: string | undefined, keys: string | undefined, condition: KeysCondition): void {
  if (keys === undefined) return;
  if (condition.isMissing) throw conditionMissing();
  if (present === undefined) throw keysChanged(present);
  condition.check(present);
}
