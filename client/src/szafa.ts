import type { PasskeyRequest } from '@szafa/protocol';
import {
  type ConnectOptions,
  type EnteringPasskey,
  login,
  loginWithPasskey,
  openSaved,
  type Recovery,
  recover,
  register,
  type SavedSession,
  type Secrets,
} from './accounts/connect.ts';
import { Api } from './call.ts';
import { AccountSharing } from './sharing/account-sharing.ts';

/**
 * One account on one server. The methods are inherited from accounts/account.ts, files/account-files.ts and sharing/account-sharing.ts.
 * @public
 */
export class Szafa extends AccountSharing {
  /**
   * Creates an account with its keys, and logs in.
   * @throws KnownAccountError if this device already knows keys of an account of that name; ApiError 409 if the name is taken, 403 if
   * registration is closed or needs an invitation
   */
  static async register(options: ConnectOptions, secrets: Secrets): Promise<Szafa> {
    return new Szafa(options, await register(options, secrets));
  }

  /**
   * Logs in.
   * @throws FactorError if a second factor is missing or wrong; ApiError 401 for a wrong name or password;
   * TamperedError if a different server answers at this address
   */
  static async login(options: ConnectOptions, secrets: Secrets): Promise<Szafa> {
    return new Szafa(options, await login(options, secrets));
  }

  /**
   * Continues a saved session. With a KEK this sends no request. Without a KEK or a secret, only calls that need no keys work.
   * @throws WrongPasswordError at the first use of the keys if the secret does not open them
   */
  static async open(options: ConnectOptions, saved: SavedSession): Promise<Szafa> {
    return new Szafa(options, await openSaved(options, saved));
  }

  /**
   * Sets a new password and a new recovery key by means of the current recovery key, and logs in. All earlier sessions of the account end.
   * @throws WrongPasswordError if the name or the recovery key is wrong; UnchangedError or UnsettledError if the answer was lost
   */
  static async recover(options: ConnectOptions, recovery: Recovery): Promise<Szafa> {
    return new Szafa(options, await recover(options, recovery));
  }

  /**
   * Returns the challenge for a login by passkey, without name and password.
   * @throws ApiError 404 if the server does not support passkeys
   */
  static passkeyChallenge(options: ConnectOptions): Promise<PasskeyRequest> {
    return new Api(options).call('passkeyChallenge', { signal: options.signal });
  }

  /**
   * Logs in with a passkey that opens the keys; needs no name.
   * @throws WrongPasswordError if the passkey opens no account on this server
   */
  static async loginWithPasskey(options: ConnectOptions, passkey: EnteringPasskey): Promise<Szafa> {
    return new Szafa(options, await loginWithPasskey(options, passkey));
  }
}
