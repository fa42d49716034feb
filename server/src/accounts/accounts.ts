import {
  type Credentials,
  checkPassword,
  cleanUsername,
  type FinishRecoveryBody,
  isReservedUsername,
  type KeysBody,
  type LeaveBody,
  limits,
  type PasswordBody,
  type RecoverBody,
  type Recovered,
  type Registration,
  RuleError,
  type Session,
  strip,
} from '@szafa/protocol';
import type { Config } from '../config.ts';
import type { Metadata } from '../metadata.ts';
import { ApiError } from '../platform/http/api-error.ts';
import { hashToken, newToken } from '../platform/ids.ts';
import type { PendingDeletion } from './deletion-table.ts';
import { Factors } from './factors.ts';
import { conditionMissing, type KeysCondition, keysChanged, profileIn, tagOf } from './key-bag.ts';
import { type LoginAddress, LoginCheck, type LoginSettings, type OnLoginFailure } from './login-check.ts';
import { Challenges, Passkeys } from './passkeys.ts';
import { accountChanged, accountDisabled, notInvited, unknownRecovery } from './refusals.ts';
import { type Caller, newSession, requireRegistered } from './sessions.ts';

type Settings = LoginSettings & Pick<Config, 'registration' | 'origin'>;

/** Accounts, their passwords and recovery keys, and the key bags that these open. */
export class Accounts {
  readonly factors: Factors;
  readonly #deps: { metadata: Metadata; settings: Settings; now: () => number; loginCheck: LoginCheck };

  constructor(
    metadata: Metadata,
    settings: Settings,
    { now = Date.now, onFailure }: { now?: () => number; onFailure?: OnLoginFailure } = {},
  ) {
    const challenges = new Challenges(() => metadata.store.challengeSecret(), now);
    const passkeys = new Passkeys(settings.origin, challenges);
    const loginCheck = new LoginCheck({ metadata, passkeys, settings, now, onFailure });
    this.#deps = { metadata, settings, now, loginCheck };
    this.factors = new Factors({ metadata, loginCheck, passkeys, now });
  }

  async register(body: Registration, { network }: LoginAddress): Promise<Session> {
    const { metadata, settings, now, loginCheck } = this.#deps;
    if (settings.registration === 'closed') throw new ApiError(403, 'registration is closed');
    const username = cleanUsername(body.username);
    const invite = await this.#checkInvitation(body.invite);
    const { session, token } = newSession(body.device);
    const [password, recovery] = [checkPassword(body.password), recoveryIn(body)];
    if (body.identity !== undefined && body.keys === undefined)
      throw new RuleError('identity is sent only with keys');
    const { passwords } = loginCheck;
    const hash = await passwords.hash(password, network);
    const recoveryHash = recovery && (await passwords.hash(recovery, network));
    const options = { keys: body.keys, identity: body.identity, recoveryHash, session, invite };
    const isTaken =
      isReservedUsername(username) || !(await metadata.accounts.create(username, hash, now(), options));
    if (isTaken) throw new ApiError(409, 'this username is taken');
    return { username, token };
  }

  /** Returns the hash of a valid invitation. Runs before the password is hashed, because hashing is slow. */
  async #checkInvitation(invite: string | undefined): Promise<string | undefined> {
    const { metadata, settings, now } = this.#deps;
    if (invite === undefined) {
      if (settings.registration === 'invite') throw new ApiError(403, 'registration needs an invitation');
      return undefined;
    }
    const hash = hashToken(invite);
    if (!(await metadata.invitations.isValid(hash, now()))) throw notInvited();
    return hash;
  }

  async login(body: Credentials, address: LoginAddress): Promise<Session> {
    const { metadata, now, loginCheck } = this.#deps;
    const username = loginName(body.username);
    const { session, token } = newSession(body.device);
    const wrong = new ApiError(401, 'wrong username or password');
    const attempt = { username, secret: body.password, factor: { code: body.code, passkey: body.passkey } };
    return loginCheck.checkSecret(attempt, address, wrong, async ({ account, before, used }) => {
      // Fails if the password has been changed since, or another login has used this code or challenge.
      if (!(await metadata.accounts.openSession(username, before.passwordHash, session, now(), used)))
        throw used ? await loginCheck.usedFactorError(account, 401) : wrong;
      return { username, token };
    });
  }

  /** Returns the KDF profile of an account to anyone. An unknown name gets an answer too, so that it reveals nothing. */
  async profile(username: string): Promise<number> {
    return profileIn(await this.#deps.metadata.accounts.keys(loginName(username)));
  }

  /** The key bag and its ETag. */
  async keys({ username }: Caller): Promise<{ keys: string; tag: string }> {
    requireRegistered(username);
    const keys = await this.#deps.metadata.accounts.keys(username);
    if (keys === undefined) throw new ApiError(404, 'this account has no keys');
    return { keys, tag: tagOf(keys) };
  }

  /**
   * Stores the first key bag or replaces the current one; returns the new ETag. Requires the password: with only a stolen
   * token, an attacker could otherwise lock the owner out for good.
   */
  async replaceKeys(
    caller: Caller,
    { password, keys, identity, recovery }: KeysBody,
    condition: KeysCondition,
    address: LoginAddress,
  ): Promise<string> {
    const { metadata, now, loginCheck } = this.#deps;
    requireRegistered(caller.username);
    if (condition.isMissing) throw conditionMissing(', or If-None-Match: *,');
    return loginCheck.checkPassword(caller, password, address, async ({ before, makeHash }) => {
      condition.check(before.keys);
      const recoveryHash = recovery && (await makeHash(recovery));
      if (!(await metadata.accounts.replaceKeys(before, { keys, identity, recoveryHash }, now())))
        throw keysChanged(before.keys);
      return tagOf(keys);
    });
  }

  /**
   * Sets a new password and the key bag it opens, and ends all other sessions. Returns the ETag of the key bag, if there is
   * one.
   */
  async changePassword(caller: Caller, body: PasswordBody, condition: KeysCondition, address: LoginAddress) {
    const { metadata, now, loginCheck } = this.#deps;
    const { username, token } = caller;
    requireRegistered(username);
    const next = checkPassword(body.next);
    const recovery = recoveryIn(body);
    return loginCheck.checkPassword(caller, body.current, address, async ({ before, makeHash }) => {
      const expected = before.keys;
      if (expected !== undefined && condition.isMissing) throw conditionMissing();
      condition.check(expected);
      // The new password would not open the old keys. The first key bag of an account is stored by replaceKeys.
      if (expected !== undefined && body.keys === undefined)
        throw new ApiError(400, 'this account has keys: send those that the new password opens');
      if (expected === undefined && body.keys !== undefined) throw keysChanged(expected);
      const secrets = {
        passwordHash: await makeHash(next),
        keys: body.keys,
        recoveryHash: recovery && (await makeHash(recovery)),
      };
      const by = { tokenHash: hashToken(token), now: now(), noneAlone: body.passkeys === 'second' };
      if (!(await metadata.accounts.changePassword(before, secrets, by))) throw accountChanged();
      return body.keys && tagOf(body.keys);
    });
  }

  /** Starts deleting the account: from now on nobody can use it. `AccountDeletion` then removes its data. */
  async leave(caller: Caller, { password }: LeaveBody, address: LoginAddress): Promise<PendingDeletion> {
    const { metadata, now, loginCheck } = this.#deps;
    return loginCheck.checkPassword(caller, password, address, async ({ before }) => {
      const by = { actor: 'account' as const, now: now(), passwordHash: before.passwordHash };
      const pending = await metadata.deletions.begin(caller.username, by);
      if (!pending) throw new ApiError(403, 'the password has just been changed; try again');
      return pending;
    });
  }

  /** First step of a recovery: returns the key bag, and a token for the second step. */
  async recover(body: RecoverBody, address: LoginAddress): Promise<{ recovered: Recovered; tag: string }> {
    const { metadata, now, loginCheck } = this.#deps;
    const username = loginName(body.username);
    // Unknown names and accounts without a recovery key get the same answer.
    const wrong = new ApiError(401, 'wrong username or recovery key');
    const attempt = { username, kind: 'recovery_hash' as const, secret: body.recovery };
    return loginCheck.checkSecret(attempt, address, wrong, async ({ account, before }) => {
      const token = newToken();
      const expiresAt = now() + limits.recoverySeconds * 1000;
      const { passwordHash: recoveryHash } = before;
      const begun = await metadata.recoveries.begin(username, recoveryHash, hashToken(token), expiresAt);
      if (!begun || account.keys === null) throw wrong;
      const recovered = { keys: account.keys, token, expires_in: limits.recoverySeconds };
      return { recovered, tag: tagOf(account.keys) };
    });
  }

  /** Second step of a recovery: sets password, keys and recovery key, and opens a session. */
  async finishRecovery(body: FinishRecoveryBody, condition: KeysCondition, { network }: LoginAddress) {
    const { metadata, now, loginCheck } = this.#deps;
    if (condition.isMissing) throw conditionMissing();
    const password = checkPassword(body.password);
    const { session, token } = newSession(body.device);
    const tokenHash = hashToken(body.token);
    const account = await metadata.recoveries.find(tokenHash, now());
    if (!account) throw unknownRecovery();
    if (account.disabled_at !== null) throw accountDisabled();
    const expected = account.keys ?? undefined;
    condition.check(expected);
    const { passwords } = loginCheck;
    const secrets = {
      passwordHash: await passwords.hash(password, network),
      keys: body.keys,
      recoveryHash: await passwords.hash(body.recovery, network),
    };
    await metadata.recoveries.finish(tokenHash, expected, secrets, session, now());
    return { session: { username: account.username, token }, tag: tagOf(body.keys) };
  }
}

/** Rejects a recovery key without a key bag: there would be nothing for it to open. */
function recoveryIn({ keys, recovery }: { keys?: string; recovery?: string }): string | undefined {
  if (recovery !== undefined && keys === undefined) throw new RuleError('recovery is sent only with keys');
  return recovery;
}

/** Replaces text that cannot be a username by its digest: failures are counted by name, and the text may have any length. */
function loginName(text: string): string {
  const username = strip(text);
  return /^[A-Za-z0-9_]{1,32}$/.test(username) ? username : hashToken(username);
}
