/** The account itself: keys, password, second factors and sessions. */
import type { Bytes, Engine } from '@szafa/format';
import type { Factors, ListedSession, NewPasskeyRequest, Quota } from '@szafa/protocol';
import { Api, type CallOptions } from '../call.ts';
import {
  type AccountContext,
  type Change,
  changePassphrase,
  changePassword,
  deriveProof,
  type Proof,
  setRecoveryKey,
} from './changes.ts';
import { type ConnectOptions, profiledAccount, type SessionKeys } from './connect.ts';
import { removeTotp, type Second, setTotp } from './factors.ts';
import { type CheckOptions, Keys } from './keys.ts';
import { addPasskey, type MadePasskey, removePasskey } from './passkeys.ts';
import { replaceMaster } from './rekey.ts';

/** The part of `Szafa` that concerns the account. */
export class Account {
  readonly api: Api;
  readonly engine: Engine;
  readonly username: string;
  readonly keys: Keys;
  protected readonly options: ConnectOptions;

  protected constructor(options: ConnectOptions, session: SessionKeys) {
    const { api, engine, username } = session;
    this.options = options;
    this.api = api;
    this.engine = engine;
    this.username = username;
    this.keys = new Keys({ ...session, pin: options.pins?.of(username) });
  }

  /** The bearer token of this session; undefined after `logout`. */
  get token(): string | undefined {
    return this.api.token;
  }

  /**
   * Fetches the key bag and checks that it belongs to this account; see `Keys.check`.
   * @throws WrongPasswordError if the password does not open the bag; TamperedError if the bag contradicts one seen before
   */
  checkKeys(options?: CheckOptions): Promise<void> {
    return this.keys.check(options);
  }

  /** Returns the used and the remaining space. */
  quota(options?: CallOptions): Promise<Quota> {
    return this.api.call('quota', { ...options });
  }

  /** Ends this session on the server. */
  async logout(options?: CallOptions): Promise<void> {
    await this.api.call('logout', { ...options });
    this.api.token = undefined;
  }

  protected accountContext(signal?: AbortSignal): AccountContext {
    const { api, engine, keys, username } = this;
    const options = { ...this.options, signal };
    let account: ReturnType<typeof profiledAccount> | undefined;
    return {
      ...{ api, engine, keys, signal },
      // Read only once per change, because two answers could differ.
      account: () => {
        account ??= profiledAccount(api, username, options);
        return account;
      },
      newApi: (token) => new Api({ ...options, token }),
    };
  }

  /**
   * Changes the password. All other sessions end; no file is uploaded again.
   * @param current the present password
   * @returns `already` if an earlier attempt, whose answer was lost, has made the change
   * @throws WrongPasswordError if `current` is wrong; KeysChangedError if another device changed the keys first; UnchangedError if the
   * old password is still valid; UnsettledError if the server does not answer: call again to find out
   */
  changePassword(current: Proof, next: string, options?: CallOptions): Promise<Change> {
    return changePassword(this.accountContext(options?.signal), current, next);
  }

  /**
   * Changes the passphrase of the files and keeps the password. Setting the first passphrase separates the files from the password.
   * @param proof the password
   * @param options.current the present passphrase, needed if this session has no keys
   * @returns `already` if an earlier attempt, whose answer was lost, has made the change
   * @throws as `changePassword`
   */
  changePassphrase(
    proof: Proof,
    next: string,
    options: CallOptions & { current?: string | undefined } = {},
  ): Promise<Change> {
    return changePassphrase(this.accountContext(options.signal), proof, next, options.current);
  }

  /**
   * Sets the recovery key of the account. The previous one stops working.
   * @param key 32 bytes from `newRecoveryKey`
   * @throws as `changePassword`
   */
  setRecoveryKey(proof: Proof, key: Bytes, options?: CallOptions): Promise<void> {
    return setRecoveryKey(this.accountContext(options?.signal), proof, key);
  }

  /**
   * Creates a new master key for everything that is sealed from now on; `finishRekey` converts the rest. All other sessions end, and
   * passkeys no longer open the keys.
   * @param recoveryKey a new recovery key; required if the account has one
   * @throws SzafaError `recovery-needed` if the recovery key is missing; otherwise as `changePassword`
   */
  replaceMaster(proof: Proof, recoveryKey: Bytes | undefined, options?: CallOptions): Promise<void> {
    return replaceMaster(this.accountContext(options?.signal), proof, recoveryKey);
  }

  /** Returns the second factors of the account. */
  factors(options?: CallOptions): Promise<Factors> {
    return this.api.call('factors', { ...options });
  }

  /**
   * Turns two-factor authentication on.
   * @param secret a secret from `newTotpSecret`
   * @param code the app's first code, which proves that the app has the secret
   * @throws FactorError if the code is wrong; WrongPasswordError
   */
  setTotp(proof: Proof, secret: string, code: string, options?: CallOptions): Promise<void> {
    return setTotp(this.accountContext(options?.signal), proof, secret, code);
  }

  /**
   * Turns off codes of an authenticator app.
   * @param second a code, or the answer of a passkey
   * @throws FactorError if both are missing; it carries the challenge for a passkey
   */
  removeTotp(proof: Proof, second: Second, options?: CallOptions): Promise<void> {
    return removeTotp(this.accountContext(options?.signal), proof, second);
  }

  /** Returns the options for creating a passkey in a browser. */
  newPasskey(options?: CallOptions): Promise<NewPasskeyRequest> {
    return this.api.call('newPasskey', { ...options });
  }

  /**
   * Adds a passkey. A login with the password then needs a second factor. With `made.secret` the passkey can also log in by itself.
   * @throws WrongPasswordError; KeysChangedError if another device changed the keys
   */
  addPasskey(proof: Proof, made: MadePasskey, options?: CallOptions): Promise<void> {
    return addPasskey(this.accountContext(options?.signal), proof, made);
  }

  /**
   * Removes a passkey. Ends other sessions that were opened with it.
   * @throws WrongPasswordError; KeysChangedError if another device changed the keys
   */
  removePasskey(proof: Proof, id: string, options?: CallOptions): Promise<void> {
    return removePasskey(this.accountContext(options?.signal), proof, id);
  }

  /** Lists the sessions and tokens of the account, latest first. */
  async sessions(options?: CallOptions): Promise<ListedSession[]> {
    return (await this.api.call('listSessions', { ...options })).sessions;
  }

  /**
   * Ends a session or token.
   * @throws ApiError 404 if it does not exist
   */
  async endSession(id: string, options?: CallOptions): Promise<void> {
    await this.api.call('endSession', { params: { session_id: id }, ...options });
  }

  /**
   * Ends all sessions and tokens except this one.
   * @returns the number of ended sessions
   */
  async endOtherSessions(options?: CallOptions): Promise<number> {
    return (await this.api.call('endSessions', { ...options })).ended;
  }

  /**
   * Permanently deletes the account and all its files.
   * @throws ApiError 403 if the password is wrong
   */
  async deleteAccount(proof: Proof, options?: CallOptions): Promise<void> {
    const { authSecret: password } = await deriveProof(this.accountContext(options?.signal), proof);
    await this.api.call('leave', { body: { password }, ...options });
    this.api.token = undefined;
    await this.options.pins?.of(this.username).forget();
  }
}
