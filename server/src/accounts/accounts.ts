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
import { conditionMissing, type KeysCondition, otherKeys, profileIn, tagOf } from './key-bags.ts';
import { Passkeys } from './passkeys.ts';
import { type OnFailure, type Origin, Proof, type ProofSettings } from './proof.ts';
import { accountDisabled, notInvited } from './refusals.ts';
import { type Caller, opening, requireRegistered } from './sessions.ts';

type Settings = ProofSettings & Pick<Config, 'registration' | 'origin'>;

interface Options {
  now?: () => number;
  /** A secret was wrong, or was not tried because too many had been. */
  onFailure?: OnFailure;
}

/** Accounts and their secrets: what they are proven by, and the key bag that it opens. */
export class Accounts {
  readonly factors: Factors;
  readonly #metadata: Metadata;
  readonly #settings: Settings;
  readonly #now: () => number;
  readonly #proof: Proof;

  constructor(metadata: Metadata, settings: Settings, { now = Date.now, onFailure }: Options = {}) {
    this.#metadata = metadata;
    this.#settings = settings;
    this.#now = now;
    const secret = () => metadata.store.challengeSecret();
    const passkeys = new Passkeys({ origin: settings.origin, secret, now });
    this.#proof = new Proof(metadata, passkeys, settings, now, onFailure);
    this.factors = new Factors({ metadata, proof: this.#proof, passkeys, now });
  }

  async register(raw: Registration, { network }: Origin): Promise<Session> {
    const { registration } = this.#settings;
    if (registration === 'closed') throw new ApiError(403, 'registration is closed');
    const username = cleanUsername(raw.username);
    const invite = await this.#invited(raw.invite);
    const { session, token } = opening(raw);
    const [password, recovery] = [checkPassword(raw.password), withKeys(raw)];
    const { passwords } = this.#proof;
    const hash = await passwords.hash(password, network);
    const recoveryHash = recovery && (await passwords.hash(recovery, network));
    const { accounts } = this.#metadata;
    const options = { keys: raw.keys, identity: identityOf(raw), recoveryHash, session, invite };
    const taken =
      isReservedUsername(username) || !(await accounts.create(username, hash, this.#now(), options));
    if (taken) throw new ApiError(409, 'this username is taken');
    return { username, token };
  }

  /** The hash of an invitation that is good now: asked before the password is hashed, which takes long. */
  async #invited(invite: string | undefined): Promise<string | undefined> {
    if (invite === undefined) {
      if (this.#settings.registration === 'invite')
        throw new ApiError(403, 'registration needs an invitation');
      return undefined;
    }
    const hash = hashToken(invite);
    if (!(await this.#metadata.invitations.isValid(hash, this.#now()))) throw notInvited();
    return hash;
  }

  async login(raw: Credentials, origin: Origin): Promise<Session> {
    const username = loginName(raw.username);
    const { session, token } = opening(raw);
    const wrong = new ApiError(401, 'wrong username or password');
    const { code, passkey } = raw;
    return this.#proof.of({ username, secret: raw.password, factor: { code, passkey } }, origin, {
      wrong,
      right: async ({ account, hash, used }) => {
        const { accounts } = this.#metadata;
        // The password was right, and is not any more; or another login used the code, or answered the challenge.
        if (!(await accounts.openSession(username, hash, session, this.#now(), used)))
          throw used ? await this.#proof.refusal(account, 401) : wrong;
        return { username, token };
      },
    });
  }

  /** The KDF profile of an account, for anyone who asks: the same for a name that nobody has. */
  async profile(username: string): Promise<number> {
    return profileIn(await this.#metadata.accounts.keys(loginName(username)));
  }

  /** The key bag and its tag, by which it can be replaced. */
  async keys({ username }: Caller): Promise<{ keys: string; tag: string }> {
    requireRegistered(username);
    const keys = await this.#metadata.accounts.keys(username);
    if (keys === undefined) throw new ApiError(404, 'this account has no keys');
    return { keys, tag: tagOf(keys) };
  }

  /**
   * Replaces the key bag, or stores the first one; the tag of what is there now. A token alone is not enough: whoever found
   * one could lock its owner out for good.
   */
  async replaceKeys(
    { username }: Caller,
    { password, keys, identity, recovery }: KeysBody,
    { fits, isMissing }: KeysCondition,
    origin: Origin,
  ): Promise<string> {
    requireRegistered(username);
    if (isMissing) throw conditionMissing(', or If-None-Match: *,');
    return this.#proof.of({ username, secret: password }, origin, {
      wrong: new ApiError(403, 'wrong password'),
      right: async ({ account, hash, make }) => {
        const expected = account.keys ?? undefined;
        if (!fits(expected && tagOf(expected))) throw otherKeys(expected);
        const recoveryHash = recovery && (await make(recovery));
        const before = { username, proven: hash, expected };
        const { accounts } = this.#metadata;
        if (!(await accounts.replaceKeys(before, { keys, identity, recoveryHash }, this.#now())))
          throw otherKeys(expected);
        return tagOf(keys);
      },
    });
  }

  /** Sets a new password and the keys that it opens, and ends all sessions but this one; the tag of the keys, if there are any. */
  async changePassword(
    { username, token }: Caller,
    body: PasswordBody,
    { fits, isMissing }: KeysCondition,
    origin: Origin,
  ): Promise<string | undefined> {
    requireRegistered(username);
    const next = checkPassword(body.next);
    const recovery = withKeys(body);
    return this.#proof.of({ username, secret: body.current }, origin, {
      wrong: new ApiError(403, 'wrong password'),
      right: async ({ account, hash, make }) => {
        const expected = account.keys ?? undefined;
        if (expected !== undefined && isMissing) throw conditionMissing();
        if (!isMissing && !fits(expected && tagOf(expected))) throw otherKeys(expected);
        // With the old keys the new password would open nothing; keys where there are none are stored as the first ones.
        if (expected !== undefined && body.keys === undefined)
          throw new ApiError(400, 'this account has keys: send those that the new password opens');
        if (expected === undefined && body.keys !== undefined) throw otherKeys(expected);
        const secrets = {
          passwordHash: await make(next),
          keys: body.keys,
          recoveryHash: recovery && (await make(recovery)),
        };
        const noneAlone = body.passkeys === 'second';
        const by = { tokenHash: hashToken(token), now: this.#now(), noneAlone };
        const before = { username, proven: hash, expected };
        if (!(await this.#metadata.accounts.changePassword(before, secrets, by)))
          throw new ApiError(412, 'the password or the keys of this account have been changed meanwhile');
        return body.keys && tagOf(body.keys);
      },
    });
  }

  /** Begins to delete the account: from now on nobody can use it. What it has goes by `AccountDeletion`. */
  async leave({ username }: Caller, { password }: LeaveBody, origin: Origin): Promise<PendingDeletion> {
    requireRegistered(username);
    return this.#proof.of({ username, secret: password }, origin, {
      wrong: new ApiError(403, 'wrong password'),
      right: async ({ hash }) => {
        const by = { actor: 'account' as const, now: this.#now(), passwordHash: hash };
        const leaving = await this.#metadata.deletions.begin(username, by);
        if (!leaving) throw new ApiError(403, 'the password has been changed meanwhile');
        return leaving;
      },
    });
  }

  /** First step: the key bag, and a token for the second, for whoever has the recovery key. */
  async recover(raw: RecoverBody, origin: Origin): Promise<{ recovered: Recovered; tag: string }> {
    const username = loginName(raw.username);
    // Also for a name that nobody has, and for an account that has no recovery key: nobody learns which is which.
    const wrong = new ApiError(401, 'wrong username or recovery key');
    return this.#proof.of({ username, kind: 'recovery_hash', secret: raw.recovery }, origin, {
      wrong,
      right: async ({ account, hash }) => {
        const token = newToken();
        const until = this.#now() + limits.recoverySeconds * 1000;
        const { recoveries } = this.#metadata;
        const begun = await recoveries.begin(username, hash, hashToken(token), until);
        if (!begun || account.keys === null) throw wrong;
        const recovered = { keys: account.keys, token, expires_in: limits.recoverySeconds };
        return { recovered, tag: tagOf(account.keys) };
      },
    });
  }

  /** Second step: everything new, and a session as after a login. */
  async finishRecovery(
    raw: FinishRecoveryBody,
    { fits, isMissing }: KeysCondition,
    { network }: Origin,
  ): Promise<{ session: Session; tag: string }> {
    if (isMissing) throw conditionMissing();
    const password = checkPassword(raw.password);
    const { session, token } = opening(raw);
    const tokenHash = hashToken(raw.token);
    const { recoveries } = this.#metadata;
    const found = await recoveries.find(tokenHash, this.#now());
    if (!found) throw noToken();
    if (found.disabled_at !== null) throw accountDisabled();
    const expected = found.keys ?? undefined;
    if (!fits(expected && tagOf(expected))) throw otherKeys(expected);
    const { passwords } = this.#proof;
    const secrets = {
      passwordHash: await passwords.hash(password, network),
      keys: raw.keys,
      recoveryHash: await passwords.hash(raw.recovery, network),
    };
    const finished = await recoveries.finish({ tokenHash, expected }, secrets, session, this.#now());
    if (finished === 'no token') throw noToken();
    if (finished === 'other keys') throw otherKeys(expected);
    return { session: { username: found.username, token }, tag: tagOf(raw.keys) };
  }
}

/** Its secret halves are in the key bag. */
function identityOf({ keys, identity }: Pick<Registration, 'keys' | 'identity'>): string | undefined {
  if (identity !== undefined && keys === undefined) throw new RuleError('identity is sent only with keys');
  return identity;
}

/** A recovery key opens the key bag: without one it would recover nothing. */
function withKeys({ keys, recovery }: { keys?: string; recovery?: string }): string | undefined {
  if (recovery !== undefined && keys === undefined) throw new RuleError('recovery is sent only with keys');
  return recovery;
}

const noToken = () => new ApiError(401, 'the token of the recovery is unknown, used or has expired');

/** What can be no username is counted under its digest, which is none either: it may have any length. */
function loginName(raw: string): string {
  const username = strip(raw);
  return /^[A-Za-z0-9_]{1,32}$/.test(username) ? username : hashToken(username);
}
