import type { Second } from '@szafa/client';
import {
  Api,
  ApiError,
  type ConnectOptions,
  LockedError,
  NetworkError,
  newRecoveryKey,
  newTotpSecret,
  PRF_INPUT,
  readServerInfo,
  recoveryKeyIn,
  recoveryText,
  Szafa,
  totpUri,
  WrongPasswordError,
} from '@szafa/client';
import {
  cleanUsername,
  type NewPasskeyRequest,
  type PasskeyAnswer,
  type PasskeyRequest,
} from '@szafa/protocol';
import type {
  Account,
  AccountOverview,
  BrowserPasskey,
  NewSession,
  NewTotp,
  Prf,
  SessionEnd,
  SignUpOptions,
} from '../core/bridge/calls.ts';
import {
  browserContacts,
  browserPins,
  browserRevs,
  type StoredSession,
  sessionStore,
} from '../core/database.worker.ts';
import { appEngine } from '../core/engine/engine.worker.ts';
import { forPage } from '../core/for-page.worker.ts';
import { drawQr } from '../core/qr-picture.worker.ts';
import { pageTransport } from '../core/transport/transport.worker.ts';
import { deviceName } from './device.worker.ts';

const GOODBYE_MS = 5_000;
const RETRY_MS = 3_000;

/** The signed-in account. Only a token and a key that cannot be exported are kept, never the password. */
export class AccountSession {
  readonly #engine = appEngine();
  readonly #options: ConnectOptions;
  readonly #onOther: () => void;
  #szafa: Szafa | undefined;

  /** `onOther` is called if a sign-in replaces a different account that this tab took over from another tab. */
  constructor(onReachable: (reachable: boolean) => void, onOther: () => void) {
    this.#onOther = onOther;
    this.#options = {
      server: globalThis.location.origin,
      engine: this.#engine,
      transport: pageTransport(onReachable),
      // Longer pauses between retries would look like a broken page.
      retry: { capMs: RETRY_MS },
      pins: browserPins,
      revs: browserRevs,
      contacts: browserContacts,
    };
  }

  get szafa(): Szafa {
    if (!this.#szafa) throw new LockedError('not signed in');
    return this.#szafa;
  }

  async offersPasskeys(): Promise<boolean> {
    return (await readServerInfo(new Api(this.#options))).origin === globalThis.location.origin;
  }

  async offersLinks(): Promise<boolean> {
    return (await readServerInfo(this.szafa.api)).features.includes('shares');
  }

  async passkeyChallenge(): Promise<PasskeyRequest & Prf> {
    return { ...(await Szafa.passkeyChallenge(this.#options)), prf: PRF_INPUT };
  }

  async loginWithPasskey(answer: PasskeyAnswer, secret: Uint8Array<ArrayBuffer>): Promise<NewSession> {
    try {
      const szafa = await Szafa.loginWithPasskey(this.#options, { answer, secret, device: device() });
      return await this.#begin(szafa);
    } finally {
      secret.fill(0);
    }
  }

  async newPasskey(): Promise<NewPasskeyRequest & Prf> {
    return { ...(await this.szafa.newPasskey()), prf: PRF_INPUT };
  }

  async addPasskey(password: string, name: string, made: BrowserPasskey): Promise<void> {
    try {
      await this.szafa.addPasskey({ password }, { ...made, name });
    } finally {
      made.secret?.fill(0);
    }
  }

  async removePasskey(password: string, id: string): Promise<void> {
    const { szafa } = this;
    await szafa.removePasskey({ password }, id);
    // If the passkey opened this session, the session now continues with the key of the password.
    await sessionStore.renewSession(this.#toKeep(szafa));
  }

  async login(rawName: string, password: string, second: Second): Promise<NewSession> {
    const username = cleanUsername(rawName);
    const secrets = { username, password, ...second, device: device() };
    return this.#begin(await Szafa.login(this.#options, secrets));
  }

  async registration(): Promise<string> {
    return (await readServerInfo(new Api(this.#options))).registration;
  }

  async register(rawName: string, password: string, wishes: SignUpOptions): Promise<NewSession> {
    const username = cleanUsername(rawName);
    const invite = wishes.invite === '' ? {} : { invite: wishes.invite };
    const secrets = { username, password, device: device(), ...invite };
    if (!wishes.recoveryKey) return this.#begin(await Szafa.register(this.#options, secrets));
    return this.#withNewKey(async (recoveryKey) =>
      this.#begin(await Szafa.register(this.#options, { ...secrets, recoveryKey }), true),
    );
  }

  async recover(rawName: string, typed: string, password: string): Promise<NewSession> {
    const username = cleanUsername(rawName);
    const used = await recoveryKeyIn(this.#engine, typed);
    return this.#withNewKey(async (recoveryKey) => {
      const renew = async () => ({ password, recoveryKey });
      const recovery = { username, recoveryKey: used, renew, device: device() };
      return this.#begin(await Szafa.recover(this.#options, recovery), true);
    });
  }

  /** Returns the new recovery key only after `use` made it valid, so that a key on paper always works. */
  async #withNewKey<T>(
    use: (key: Uint8Array<ArrayBuffer>) => Promise<T>,
  ): Promise<T & { recoveryKey: string }> {
    const key = newRecoveryKey(this.#engine);
    const text = await recoveryText(this.#engine, key);
    try {
      return { ...(await use(key)), recoveryKey: text };
    } finally {
      key.fill(0);
    }
  }

  async #begin(szafa: Szafa, hasKeyToShow = false): Promise<Account> {
    const { username } = szafa;
    try {
      await szafa.checkKeys();
    } catch (error) {
      // The new recovery key can be shown only now, so an unreachable server must not prevent that. The keys were just
      // made here, and are checked when they are next needed.
      if (!(hasKeyToShow && isAway(error))) {
        // End the session: for example, this page cannot open files that are under a separate passphrase.
        await this.#goodbye(szafa.token);
        throw error;
      }
    }
    const before = await sessionStore.session();
    // Keep unfinished uploads of the same account, and delete those of another.
    if (before && before.username !== username) await sessionStore.forgetAll();
    await sessionStore.keepSession(this.#toKeep(szafa));
    if (this.#szafa && this.#szafa.username !== username) this.#onOther();
    this.#szafa = szafa;
    return { username };
  }

  #toKeep({ username, token, keys }: Szafa): StoredSession {
    const { unlocker } = keys;
    const passkey = unlocker.type === 'passkey' ? { passkey: unlocker.id } : {};
    return { username, token: token!, kek: this.#engine.keyOf(unlocker.kek), ...passkey };
  }

  /** Ends the token on the server. Failures are ignored: the token then expires by itself. */
  async #goodbye(token: string | undefined): Promise<void> {
    if (token === undefined) return;
    const signal = AbortSignal.timeout(GOODBYE_MS);
    await new Api({ ...this.#options, token }).call('logout', { signal }).catch(() => {});
  }

  async restore(): Promise<Account | SessionEnd | null> {
    const session = await sessionStore.session();
    if (!session || !('kek' in session)) return null;
    const { username, token, passkey } = session;
    const kek = this.#engine.handleOf(session.kek);
    const szafa = await Szafa.open(this.#options, { username, token, kek, passkey });
    try {
      await Promise.all([szafa.api.call('me'), szafa.checkKeys()]);
    } catch (error) {
      const why = endOf(error);
      if (!why) throw error;
      await sessionStore.endSession(token);
      if (why === 'other-password') await this.#goodbye(token);
      return why;
    }
    // If a sign-in has succeeded in the meantime, keep the newer session.
    this.#szafa ??= szafa;
    return { username };
  }

  async overview(): Promise<AccountOverview> {
    const { szafa } = this;
    const [bag, sessions, { totp, passkeys }, passkeysOffered] = await Promise.all([
      szafa.keys.fetchBag(),
      szafa.sessions(),
      szafa.factors(),
      this.offersPasskeys(),
    ]);
    return {
      totp,
      passkeysOffered,
      // The server could claim `alone` for a passkey that has no entry in the key bag and opens nothing.
      passkeys: passkeys.map((passkey) => ({
        ...forPage(passkey),
        alone: bag?.bag.passkeys.has(passkey.id) ?? false,
      })),
      hasRecoveryKey: bag?.bag.recovery !== undefined,
      sessions: sessions.map(forPage),
    };
  }

  async changePassword(current: string, next: string): Promise<void> {
    const { szafa } = this;
    await szafa.changePassword({ password: current }, next);
    // Store the new key for the next reload. Other tabs continue with the master keys that they have opened.
    await sessionStore.renewSession(this.#toKeep(szafa));
  }

  async newRecoveryKey(): Promise<string> {
    return (await this.#withNewKey(async () => ({}))).recoveryKey;
  }

  async setRecoveryKey(password: string, typed: string): Promise<void> {
    const { szafa } = this;
    const key = await recoveryKeyIn(this.#engine, typed);
    try {
      await szafa.setRecoveryKey({ password }, key);
    } finally {
      key.fill(0);
    }
  }

  async newTotp(): Promise<NewTotp> {
    const { username, api } = this.szafa;
    const secret = newTotpSecret(this.#engine);
    const uri = totpUri(secret, { server: api.server, username });
    return { secret, uri, qrCode: await drawQr(uri) };
  }

  /**
   * Another account may sign in before the server answers. `onGone` is called if none did in this tab; the result is true
   * if none did in any tab.
   */
  async deleteAccount(password: string, onGone: () => void): Promise<boolean> {
    const { szafa } = this;
    const { token } = szafa;
    await szafa.deleteAccount({ password });
    if (this.#szafa === szafa) {
      this.#szafa = undefined;
      onGone();
    }
    return sessionStore.forgetAll(token);
  }

  /** Returns whether the browser stored this session, as `leave` does. If not, other tabs are in a newer session. */
  async expire(): Promise<boolean> {
    const token = this.#szafa?.token;
    this.#szafa = undefined;
    return token !== undefined && sessionStore.endSession(token);
  }

  async isStored(): Promise<boolean> {
    const session = await sessionStore.session();
    return session !== undefined && 'token' in session && session.token === this.#szafa?.token;
  }

  async leave(tellService: boolean): Promise<boolean> {
    const session = await sessionStore.session();
    // If the session could not be restored, its token is only in the store.
    const token = this.#szafa?.token ?? (session && 'token' in session ? session.token : undefined);
    this.#szafa = undefined;
    // If this tab follows another one's sign-out late, the stored session may already be a newer one, which stays.
    const isLast = await sessionStore.forgetAll(token);
    if (tellService) await this.#goodbye(token);
    return isLast;
  }
}

const device = () => deviceName(navigator.userAgent);

/** Returns why a stored session cannot continue, or undefined if a new sign-in would not help. */
function endOf(error: unknown): SessionEnd | undefined {
  if (error instanceof ApiError && error.status === 401) return 'ended';
  // The password was changed, but the tab was closed before it stored the new key.
  return error instanceof WrongPasswordError ? 'other-password' : undefined;
}

/** The server cannot be reached or has failed, which says nothing about the keys. */
function isAway(error: unknown): boolean {
  return error instanceof NetworkError || (error instanceof ApiError && error.status >= 500);
}
