import { homedir, hostname } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { type ClientSetting, limits } from '@szafa/protocol';
import type { Flags } from '../../options.ts';
import { parseSeconds } from '../print/quantities.ts';

export type Environment = Record<string, string | undefined>;

/** Where to read a secret from before asking for it. */
export interface SecretSource {
  text: string | undefined;
  file: string | undefined;
  /** The environment variables to name in messages. */
  names: string;
}

export type Settings = ReturnType<typeof readSettings>;

/** Ignores a relative XDG_CONFIG_HOME, as the XDG specification requires. */
function defaultConfig(env: Environment): string {
  const xdg = env['XDG_CONFIG_HOME'];
  return join(xdg && isAbsolute(xdg) ? xdg : join(env['HOME'] || homedir(), '.config'), 'szafa');
}

/** A flag overrides its variable; an empty variable counts as unset. */
export function readSettings(flags: Flags, env: Environment) {
  const set = (name: ClientSetting) => env[name] || undefined;
  const secret = (name: ClientSetting, fileName: ClientSetting, flag?: string): SecretSource => ({
    text: flag === undefined ? set(name) : undefined,
    file: flag ?? set(fileName),
    names: `${name} or ${fileName}`,
  });
  return {
    server: flags.server ?? set('SZ_SERVER'),
    user: flags.user ?? set('SZ_USER'),
    /** A bearer token, used instead of the stored session. */
    token: secret('SZ_TOKEN', 'SZ_TOKEN_FILE'),
    password: secret('SZ_PASSWORD', 'SZ_PASSWORD_FILE', flags['password-file']),
    passphrase: secret('SZ_PASSPHRASE', 'SZ_PASSPHRASE_FILE'),
    linkPassphrase: secret('SZ_LINK_PASSPHRASE', 'SZ_LINK_PASSPHRASE_FILE'),
    invite: secret('SZ_INVITE', 'SZ_INVITE_FILE'),
    newPassword: secret('SZ_NEW_PASSWORD', 'SZ_NEW_PASSWORD_FILE', flags['new-password-file']),
    newPassphrase: secret('SZ_NEW_PASSPHRASE', 'SZ_NEW_PASSPHRASE_FILE'),
    recoveryKey: secret('SZ_RECOVERY_KEY', 'SZ_RECOVERY_KEY_FILE', flags['key-file']),
    /** A two-factor code. Valid once, for about a minute. */
    code: set('SZ_CODE'),
    /** Name of a new session in the list of sessions. */
    device: Array.from(flags.device ?? hostname())
      .slice(0, limits.deviceChars)
      .join(''),
    /** Folder for the session and the journals. */
    config: resolve(flags.config ?? set('SZ_CONFIG') ?? defaultConfig(env)),
    retrySeconds: flags.retry === undefined ? undefined : parseSeconds('retry', flags.retry),
  };
}
