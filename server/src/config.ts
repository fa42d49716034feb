/** The settings. One file: a setting, its check and what it becomes are seen together. */

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { clientSettings } from '@szafa/protocol';
import { ConfigError } from './platform/errors.ts';
import { type Cidrs, parseCidrs } from './platform/http/addresses.ts';
import { parseS3Location, type S3Credentials, type S3Location } from './platform/s3/location.ts';

interface Setting<T> {
  /** Shown in the documentation's table. */
  about: string;
  /** The default as a person reads it. */
  shown: string;
  /** The value may also be given as the content of the file named by `<NAME>_FILE`. */
  secret?: true;
  read: (text: string | undefined) => T;
}

function setting<T>(about: string, fallback: string, read: (text: string) => T): Setting<T> {
  return { about, shown: fallback, read: (text) => read(text ?? fallback) };
}

function whole(text: string, min = 0, max = Number.MAX_SAFE_INTEGER): number {
  const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) throw new ConfigError(`must be a whole number from ${min} to ${max}`);
  return value;
}

function oneOf<const T extends string>(text: string, ...choices: T[]): T {
  const choice = choices.find((candidate) => candidate === text);
  if (choice === undefined) throw new ConfigError(`must be one of ${choices.join(', ')}`);
  return choice;
}

/** An address at which browsers have passkeys: of a name, since a number can have none, and one that nobody else can take on the way. */
function originOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  const { protocol, hostname, origin } = url ?? {};
  if (origin === undefined || (text !== origin && text !== `${origin}/`))
    throw new ConfigError('must be an address like https://files.example.org, with nothing behind it');
  const isHere = /^(.+\.)?localhost$/.test(hostname!);
  if (protocol !== 'https:' && !(protocol === 'http:' && isHere))
    throw new ConfigError('must begin with https://, or with http:// for localhost');
  if (/^\[|^[\d.]+$/.test(hostname!))
    throw new ConfigError('must have a name and not a number: passkeys need one');
  return origin;
}

/** The content of a named file, or undefined. */
function content(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    return readFileSync(text, 'utf8');
  } catch (cause) {
    throw new ConfigError(`cannot be read: ${(cause as NodeJS.ErrnoException).code} at ${text}`, { cause });
  }
}

/** Every setting: its documentation, its default and the check that refuses a wrong value. */
export const settings = {
  SZ_HOST: setting('Address to listen on', '127.0.0.1', (text) => text),
  SZ_PORT: setting('Port to listen on; 0 takes a free one', '8080', (text) => whole(text, 0, 65535)),
  SZ_DATA: setting('Folder for database, volumes and the system token', './data', (text) => resolve(text)),
  SZ_DATABASE: {
    about: '`postgres://user:password@host/database?schema=name` instead of SQLite in the data folder',
    shown: 'SQLite',
    secret: true,
    read: (text) => {
      if (text !== undefined && !/^postgres(ql)?:\/\/./.test(text)) {
        throw new ConfigError('must be an address like postgres://user:password@host/database');
      }
      return text;
    },
  } as Setting<string | undefined>,
  SZ_VOLUMES: {
    about:
      '`s3://bucket/prefix?endpoint=https://host&region=name` instead of the data folder; the keys are `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or `…_FILE`',
    shown: 'the data folder',
    read: (text) => (text === undefined ? undefined : parseS3Location(text)),
  } as Setting<S3Location | undefined>,
  SZ_WORKERS: {
    about: 'Worker processes that share the port',
    shown: 'one for each core',
    read: (text) => (text === undefined ? availableParallelism() : whole(text, 1, 256)),
  } as Setting<number>,
  SZ_SYSTEM_TOKEN: {
    about: 'Bearer token of `admin`; when unset, one is made at the first start and kept in the data folder',
    shown: 'a random one',
    secret: true,
    read: (text) => {
      if (text !== undefined && !/^[\x21-\x7e]{16,}$/.test(text)) {
        throw new ConfigError('must have at least 16 visible ASCII characters');
      }
      return text;
    },
  } as Setting<string | undefined>,
  SZ_TLS_CERT: {
    about: 'PEM file of the certificate chain; with SZ_TLS_KEY the server speaks HTTPS',
    shown: '',
    read: content,
  } as Setting<string | undefined>,
  SZ_TLS_KEY: {
    about: "PEM file of the certificate's private key",
    shown: '',
    read: content,
  } as Setting<string | undefined>,
  SZ_QUOTA: setting('Space for each account, in bytes', String(10 * 1024 ** 3), (text) => whole(text)),
  SZ_QUOTA_ENFORCE: setting(
    '1 refuses an init, complete or clone that would exceed the quota (507)',
    '0',
    (text) => oneOf(text, '0', '1') === '1',
  ),
  SZ_MAX_VOLUME: setting('Largest volume in bytes', String(5 * 1024 ** 3), (text) => whole(text)),
  SZ_MIN_FREE: setting(
    'Free disk space, in bytes, that uploads, clones and pulls must leave (507)',
    String(1024 ** 3),
    (text) => whole(text),
  ),
  SZ_REGISTRATION: setting(
    '`invite` lets only those register who have an invitation, `closed` nobody (403)',
    'open',
    (text) => oneOf(text, 'open', 'closed', 'invite'),
  ),
  SZ_SHARES: setting(
    '`off` lets nobody share, and what was shared is not served; it is still listed for its owner, who can end it',
    'on',
    (text) => oneOf(text, 'on', 'off') === 'on',
  ),
  SZ_SESSION_TTL: setting('Seconds a token lives after its last use', String(30 * 86400), (text) =>
    whole(text, 1),
  ),
  SZ_AUDIT_DAYS: setting('Days that it is known what was done to accounts, and by whom', '365', (text) =>
    whole(text, 1, 36_500),
  ),
  SZ_TRANSFER_TTL: setting(
    'Seconds an upload is kept after the last request to it',
    String(7 * 86400),
    (text) => whole(text, 1),
  ),
  SZ_TRASH_DAYS: setting('Days that a file stays in the trash before it is deleted', '30', (text) =>
    whole(text, 1, 36_500),
  ),
  SZ_SWEEP_INTERVAL: setting('Seconds between two rounds of the sweeper', '5', (text) =>
    whole(text, 1, 3600),
  ),
  SZ_SCRUB_DAYS: setting(
    'Days from one scrub to the next, which reads every stored volume and compares it; 0 turns it off',
    '30',
    (text) => whole(text, 0, 3650),
  ),
  SZ_SCRUB_RATE: setting('Bytes per second that the scrub reads at most', '20000000', (text) =>
    whole(text, 1),
  ),
  SZ_LOGIN_ATTEMPTS: setting(
    'Failed logins in a row, for one username from one address, before 429',
    '10',
    (text) => whole(text, 1),
  ),
  SZ_LOGIN_ADDRESS_ATTEMPTS: setting(
    'Failed logins from one address (IPv6: its /64), for any usernames, within SZ_LOGIN_WAIT, before 429',
    '300',
    (text) => whole(text, 1),
  ),
  SZ_LOGIN_WAIT: setting('Seconds to wait after that', '60', (text) => whole(text, 1)),
  SZ_OPEN_TRANSFERS: setting('Unfinished uploads that an account may have (429)', '1000', (text) =>
    whole(text, 1),
  ),
  SZ_OPEN_VOLUMES: setting(
    'Volumes that the unfinished uploads of an account may have in total (429)',
    '1000000',
    (text) => whole(text, 1),
  ),
  SZ_PULLS_ACCOUNT: setting('Pulls that an account may run at once; others wait, then get 429', '4', (text) =>
    whole(text, 1),
  ),
  SZ_PULLS: setting('Pulls that this node runs at once', '16', (text) => whole(text, 1)),
  SZ_PULL_ALLOW: setting(
    "Addresses that a pull may reach besides the caller's own (CIDR list)",
    '',
    parseCidrs,
  ),
  SZ_TRUST_PROXY: setting('Proxies whose X-Forwarded-For is trusted (CIDR list)', '', parseCidrs),
  SZ_ORIGIN: {
    about:
      'Where the page is for its users, as `https://files.example.org`: passkeys are bound to it. `http://` only with localhost. Without it no passkeys are offered',
    shown: 'none',
    read: originOf,
  } as Setting<string | undefined>,
  SZ_ACCEL: setting(
    '1 lets nginx send volumes itself (X-Accel-Redirect) where a proxy in SZ_TRUST_PROXY offers it, and the group of the server read the volumes in the data folder',
    '0',
    (text) => oneOf(text, '0', '1') === '1',
  ),
  SZ_IDLE_TIMEOUT: setting(
    'Seconds without a byte after which a connection is closed; JSON bodies must be whole by then, with a second more for every 16,000 bytes',
    '60',
    (text) => whole(text, 1, 86400),
  ),
  SZ_SHUTDOWN_GRACE: setting('Seconds that running requests get to finish after SIGTERM', '30', (text) =>
    whole(text, 0, 3600),
  ),
  SZ_LANE: setting(
    "0 leaves every connection to Node's own HTTP server, which costs uploads more CPU",
    '1',
    (text) => oneOf(text, '0', '1') === '1',
  ),
  SZ_METRICS_PORT: {
    about:
      'Port on SZ_HOST where GET /metrics needs no token; the main port always asks for the system token',
    shown: 'none',
    read: (text) => (text === undefined ? undefined : whole(text, 1, 65535)),
  } as Setting<number | undefined>,
  SZ_LOG: setting('Minimum log level: debug, info, warn, error or silent', 'info', (text) =>
    oneOf(text, 'debug', 'info', 'warn', 'error', 'silent'),
  ),
} satisfies Record<string, Setting<unknown>>;

export interface Config {
  host: string;
  port: number;
  dataFolder: string;
  /** Undefined: SQLite in the data folder. */
  database: string | undefined;
  /** Undefined: the data folder. */
  s3: { location: S3Location; credentials: S3Credentials } | undefined;
  workers: number;
  systemToken: string | undefined;
  /** In PEM. */
  tls: { cert: string; key: string } | undefined;
  quotaBytes: number;
  quotaEnforced: boolean;
  maxVolumeBytes: number;
  minFreeBytes: number;
  registration: 'open' | 'closed' | 'invite';
  /** Files may be shared, and what is shared is served. */
  shares: boolean;
  sessionTtlMs: number;
  auditMs: number;
  transferTtlMs: number;
  trashMs: number;
  sweepMs: number;
  /** From one scrub to the next; 0: there is none. */
  scrubMs: number;
  scrubBytesPerSecond: number;
  loginAttempts: number;
  loginAddressAttempts: number;
  loginWaitMs: number;
  openTransfers: number;
  openVolumes: number;
  pullsOfAccount: number;
  pullsOfNode: number;
  pullAllow: Cidrs;
  trustProxy: Cidrs;
  /** Where the page is, as browsers name it; undefined: nobody said. */
  origin: string | undefined;
  /** A trusted proxy may send volumes itself. */
  accel: boolean;
  idleMs: number;
  shutdownMs: number;
  /** The fast lane for volumes is open. */
  lane: boolean;
  metricsPort: number | undefined;
  logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
}

type SettingName = keyof typeof settings;
type SettingValue<N extends SettingName> = ReturnType<(typeof settings)[N]['read']>;

function readSetting<N extends SettingName>(name: N, env: NodeJS.ProcessEnv): SettingValue<N> {
  const found: Setting<unknown> = settings[name];
  try {
    return found.read(textOf(name, found, env)) as SettingValue<N>;
  } catch (cause) {
    throw new ConfigError(`${name} ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
}

export function readConfig(env: NodeJS.ProcessEnv): Config {
  const get = <N extends SettingName>(name: N) => readSetting(name, env);
  for (const name of Object.keys(env)) {
    if (name.startsWith('SZ_') && !isKnown(name)) {
      throw new ConfigError(`${name} is not a setting of this server; docs/settings.md lists them all`);
    }
  }
  const location = get('SZ_VOLUMES');
  if (get('SZ_ACCEL') && get('SZ_TRUST_PROXY').isEmpty) {
    throw new ConfigError('SZ_ACCEL needs SZ_TRUST_PROXY, the address of the nginx that is to send volumes');
  }
  return {
    host: get('SZ_HOST'),
    port: get('SZ_PORT'),
    dataFolder: get('SZ_DATA'),
    database: get('SZ_DATABASE'),
    s3: location && { location, credentials: readCredentials(env) },
    workers: get('SZ_WORKERS'),
    systemToken: get('SZ_SYSTEM_TOKEN'),
    tls: readTls(env),
    quotaBytes: get('SZ_QUOTA'),
    quotaEnforced: get('SZ_QUOTA_ENFORCE'),
    maxVolumeBytes: get('SZ_MAX_VOLUME'),
    minFreeBytes: get('SZ_MIN_FREE'),
    registration: get('SZ_REGISTRATION'),
    shares: get('SZ_SHARES'),
    sessionTtlMs: get('SZ_SESSION_TTL') * 1000,
    auditMs: get('SZ_AUDIT_DAYS') * 86_400_000,
    transferTtlMs: get('SZ_TRANSFER_TTL') * 1000,
    trashMs: get('SZ_TRASH_DAYS') * 86_400_000,
    sweepMs: get('SZ_SWEEP_INTERVAL') * 1000,
    scrubMs: get('SZ_SCRUB_DAYS') * 86_400_000,
    scrubBytesPerSecond: get('SZ_SCRUB_RATE'),
    loginAttempts: get('SZ_LOGIN_ATTEMPTS'),
    loginAddressAttempts: get('SZ_LOGIN_ADDRESS_ATTEMPTS'),
    openTransfers: get('SZ_OPEN_TRANSFERS'),
    openVolumes: get('SZ_OPEN_VOLUMES'),
    pullsOfAccount: get('SZ_PULLS_ACCOUNT'),
    pullsOfNode: get('SZ_PULLS'),
    loginWaitMs: get('SZ_LOGIN_WAIT') * 1000,
    pullAllow: get('SZ_PULL_ALLOW'),
    trustProxy: get('SZ_TRUST_PROXY'),
    origin: get('SZ_ORIGIN'),
    accel: get('SZ_ACCEL'),
    idleMs: get('SZ_IDLE_TIMEOUT') * 1000,
    shutdownMs: get('SZ_SHUTDOWN_GRACE') * 1000,
    lane: get('SZ_LANE'),
    metricsPort: get('SZ_METRICS_PORT'),
    logLevel: get('SZ_LOG'),
  };
}

/** The certificate and its key as their files are now. */
export function readTls(env: NodeJS.ProcessEnv): Config['tls'] {
  return tlsOf(readSetting('SZ_TLS_CERT', env), readSetting('SZ_TLS_KEY', env));
}

function tlsOf(cert: string | undefined, key: string | undefined): Config['tls'] {
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined)
    throw new ConfigError('SZ_TLS_CERT and SZ_TLS_KEY must be set together');
  try {
    createSecureContext({ cert, key });
    // An empty file would be no error above.
    new X509Certificate(cert);
  } catch (cause) {
    throw new ConfigError(`SZ_TLS_CERT and SZ_TLS_KEY cannot be used: ${(cause as Error).message}`, {
      cause,
    });
  }
  return { cert, key };
}

/** Settings of the client and of the set-up may be in the same shell; they are no mistake. */
const CLIENT_SETTINGS: ReadonlySet<string> = new Set([...clientSettings, 'SZ_NO_APT']);

function isKnown(name: string): boolean {
  if (name in settings || CLIENT_SETTINGS.has(name) || name.startsWith('SZ_TEST_')) return true;
  const base: Setting<unknown> | undefined = settings[name.replace(/_FILE$/, '') as keyof typeof settings];
  return base?.secret === true;
}

/** The names that every tool for S3 reads. */
export function readCredentials(env: NodeJS.ProcessEnv): S3Credentials {
  const read = (name: string) => {
    const value = textOf(name, { secret: true }, env);
    if (value === undefined)
      throw new ConfigError(`${name} or ${name}_FILE must be set: SZ_VOLUMES needs it`);
    return value;
  };
  return { accessKeyId: read('AWS_ACCESS_KEY_ID'), secretAccessKey: read('AWS_SECRET_ACCESS_KEY') };
}

function textOf(name: string, found: { secret?: true }, env: NodeJS.ProcessEnv): string | undefined {
  const file = found.secret ? env[`${name}_FILE`] : undefined;
  if (file === undefined || file === '') return env[name] === '' ? undefined : env[name];
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (cause) {
    throw new ConfigError(
      `cannot be read from ${name}_FILE: ${(cause as NodeJS.ErrnoException).code} at ${file}`,
      {
        cause,
      },
    );
  }
}
