import { Api, ApiError, type ConnectOptions, LockedError, Szafa } from '@szafa/client';
import { cleanUsername } from '@szafa/protocol';
import type { Account } from '../bridge.ts';
import { browserPins, kept } from './database.ts';
import { holdingEngine } from './engine.ts';
import { pageTransport } from './transport.ts';

const GOODBYE_MS = 5_000;

/** Who is signed in. The password is used once and forgotten; what stays is a token and a key whose bytes cannot be exported. */
export class SignedIn {
  readonly #engine = holdingEngine();
  readonly #options: ConnectOptions;
  #szafa: Szafa | undefined;

  constructor(onReachable: (reachable: boolean) => void) {
    this.#options = {
      server: globalThis.location.origin,
      engine: this.#engine,
      transport: pageTransport(onReachable),
      pins: browserPins,
    };
  }

  get szafa(): Szafa {
    if (!this.#szafa) throw new LockedError('not signed in');
    return this.#szafa;
  }

  async registration(): Promise<string> {
    return (await new Api(this.#options).service()).registration;
  }

  async enter(
    how: 'register' | 'login',
    rawName: string,
    password: string,
    invite: string | undefined,
  ): Promise<Account> {
    const username = cleanUsername(rawName);
    const szafa = await Szafa[how](this.#options, { username, password, invite });
    await this.#checkKeys(szafa);
    const session = { username, token: szafa.token!, kek: this.#engine.keyOf(szafa.keys.kek) };
    const before = await kept.session();
    // Unfinished uploads of this account go on; those of another are none of its business.
    if (before && before.username !== username) await kept.forgetAll();
    await kept.keepSession(session);
    this.#szafa = szafa;
    return { username };
  }

  /** Where the files are under a passphrase of their own, this page can open none of them. */
  async #checkKeys(szafa: Szafa): Promise<void> {
    try {
      await szafa.checkKeys();
    } catch (error) {
      await szafa.logout({ signal: AbortSignal.timeout(GOODBYE_MS) }).catch(() => {}); // it ends by itself, later
      throw error;
    }
  }

  async restore(): Promise<Account | null> {
    const session = await kept.session();
    if (!session || !('kek' in session)) return null;
    const { username, token } = session;
    const szafa = await Szafa.open(this.#options, {
      username,
      token,
      kek: this.#engine.handleOf(session.kek),
    });
    try {
      await szafa.api.me();
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 401)) throw error;
      await kept.endSession(token);
      return null;
    }
    this.#szafa = szafa;
    return { username };
  }

  async expire(): Promise<void> {
    const token = this.#szafa?.token;
    this.#szafa = undefined;
    if (token) await kept.endSession(token);
  }

  async leave(tellService: boolean): Promise<void> {
    const szafa = this.#szafa;
    this.#szafa = undefined;
    await kept.forgetAll();
    if (!tellService || !szafa) return;
    try {
      await szafa.logout({ signal: AbortSignal.timeout(GOODBYE_MS) });
    } catch {
      // The keys are gone from here; a token that the service did not hear about expires by itself.
    }
  }
}
