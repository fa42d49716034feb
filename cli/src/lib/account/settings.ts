import { homedir, hostname } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { type ClientSetting, limits } from '@szafa/protocol';
import type { Flags } from '../../options.ts';
import { parseSeconds } from '../print/quantities.ts';

export type Environment = Record<string, string | undefined>;

/** Where a secret may come from besides a question. */
export interface SecretSource {
  text: string | undefined;
  file: string | undefined;
  /** For messages: the variables to set. */
  names: string;
}

export interface Settings {
  server: string | undefined;
  user: string | undefined;
  /** A bearer token in place of a session. */
  token: SecretSource;
  password: SecretSource;
  passphrase: SecretSource;
  linkPassphrase: SecretSource;
  invite: SecretSource;
  newPassword: SecretSource;
  newPassphrase: SecretSource;
  recoveryKey: SecretSource;
  /** Of the second factor; it counts once, and for a minute. */
  code: string | undefined;
  /** What a new session is listed as. */
  device: string;
  /** Folder of the session and the journals. */
  config: string;
  retrySeconds: number | undefined;
}

/** "the XDG one": a relative XDG_CONFIG_HOME does not count, says that specification. */
function defaultConfig(env: Environment): string {
  const xdg = env['XDG_CONFIG_HOME'];
  return join(xdg && isAbsolute(xdg) ? xdg : join(env['HOME'] || homedir(), '.config'), 'szafa');
}

/** Flags are stronger than the environment; an empty variable is an unset one. */
export function readSettings(flags: Flags, env: Environment): Settings {
  const set = (name: ClientSetting) => env[name] || undefined;
  return {
    server: flags.server ?? set('SZ_SERVER'),
    user: flags.user ?? set('SZ_USER'),
    token: {
      text: set('SZ_TOKEN'),
      file: set('SZ_TOKEN_FILE'),
      names: 'SZ_TOKEN or SZ_TOKEN_FILE',
    },
    password: {
      text: flags['password-file'] === undefined ? set('SZ_PASSWORD') : undefined,
      file: flags['password-file'] ?? set('SZ_PASSWORD_FILE'),
      names: 'SZ_PASSWORD or SZ_PASSWORD_FILE',
    },
    passphrase: {
      text: set('SZ_PASSPHRASE'),
      file: set('SZ_PASSPHRASE_FILE'),
      names: 'SZ_PASSPHRASE or SZ_PASSPHRASE_FILE',
    },
    linkPassphrase: {
      text: set('SZ_LINK_PASSPHRASE'),
      file: set('SZ_LINK_PASSPHRASE_FILE'),
      names: 'SZ_LINK_PASSPHRASE or SZ_LINK_PASSPHRASE_FILE',
    },
    invite: {
      text: set('SZ_INVITE'),
      file: set('SZ_INVITE_FILE'),
      names: 'SZ_INVITE or SZ_INVITE_FILE',
    },
    newPassword: {
      text: flags['new-password-file'] === undefined ? set('SZ_NEW_PASSWORD') : undefined,
      file: flags['new-password-file'] ?? set('SZ_NEW_PASSWORD_FILE'),
      names: 'SZ_NEW_PASSWORD or SZ_NEW_PASSWORD_FILE',
    },
    newPassphrase: {
      text: set('SZ_NEW_PASSPHRASE'),
      file: set('SZ_NEW_PASSPHRASE_FILE'),
      names: 'SZ_NEW_PASSPHRASE or SZ_NEW_PASSPHRASE_FILE',
    },
    recoveryKey: {
      text: flags['key-file'] === undefined ? set('SZ_RECOVERY_KEY') : undefined,
      file: flags['key-file'] ?? set('SZ_RECOVERY_KEY_FILE'),
      names: 'SZ_RECOVERY_KEY or SZ_RECOVERY_KEY_FILE',
    },
    code: set('SZ_CODE'),
    device: Array.from(flags.device ?? hostname())
      .slice(0, limits.deviceChars)
      .join(''),
    config: resolve(flags.config ?? set('SZ_CONFIG') ?? defaultConfig(env)),
    retrySeconds: flags.retry === undefined ? undefined : parseSeconds('retry', flags.retry),
  };
}
