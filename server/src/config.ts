/** All settings in one file, so that each has its name, documentation, default and check in one place. */

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { clientSettings } from '@szafa/protocol';
import { parseBytes } from './platform/bytes.ts';
import type { Tls } from './platform/cluster/tls.ts';
import { ConfigError } from './platform/errors.ts';
import { parseCidrs } from './platform/http/addresses.ts';
import { parseS3Location, type S3Credentials, type S3Location } from './platform/s3/location.ts';

interface Setting<Key extends string, T> {
  /** The field of Config. */
  key: Key;
  /** Shown in the documentation's table. */
  about: string;
  /** The default as shown in the documentation. */
  shown: string;
  /** The value may also be the content of the file named by `<NAME>_FILE`. */
  secret?: boolean;
  read: (text: string | undefined) => T;
}

/** A setting with a default. `about` adds its documentation. */
function setting<const Key extends string, T>(key: Key, fallback: string, read: (text: string) => T) {
  const readText = (text: string | undefined) => read(text ?? fallback);
  return { about: (about: string): Setting<Key, T> => ({ key, about, shown: fallback, read: readText }) };
}

/** A setting without a default. `shown` describes what happens if it is unset. */
function optional<const Key extends string, T>(
  key: Key,
  shown: string,
  read: (text: string) => T,
  secret = false,
) {
  const readText = (text: string | undefined) => (text === undefined ? undefined : read(text));
  return {
    about: (about: string): Setting<Key, T | undefined> => ({ key, about, shown, secret, read: readText }),
  };
}

const whole =
  (min = 0, max = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const value = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max))
      throw new ConfigError(`must be a whole number from ${min} to ${max}`);
    return value;
  };

const seconds = (min: number, max?: number) => (text: string) => whole(min, max)(text) * 1000;
const days = (min: number, max: number) => (text: string) => whole(min, max)(text) * 86_400_000;

const oneOf =
  <const T extends string>(...choices: T[]) =>
  (text: string): T => {
    const choice = choices.find((candidate) => candidate === text);
    if (choice === undefined) throw new ConfigError(`must be one of ${choices.join(', ')}`);
    return choice;
  };
const flag = (text: string) => oneOf('0', '1')(text) === '1';

const matching = (pattern: RegExp, rule: string) => (text: string) => {
  if (!pattern.test(text)) throw new ConfigError(rule);
  return text;
};

/** An origin that passkeys can be bound to: HTTPS, or localhost, and a name instead of an IP address. */
function originOf(text: string): string {
  const url = URL.parse(text);
  const { protocol, hostname, origin } = url ?? {};
  if (origin === undefined || (text !== origin && text !== `${origin}/`))
    throw new ConfigError('must be an origin like https://files.example.org, without a path');
  const isHere = /^(.+\.)?localhost$/.test(hostname!);
  if (protocol !== 'https:' && !(protocol === 'http:' && isHere))
    throw new ConfigError('must begin with https://, or with http:// for localhost');
  if (/^\[|^[\d.]+$/.test(hostname!))
    throw new ConfigError('must have a host name, not an IP address: passkeys need one');
  return origin;
}

/** A size: bytes, or a number with K, M, G or T. */
const bytes = (min: number) => (text: string) => {
  const value = parseBytes(text);
  if (value === undefined || value < min)
    throw new ConfigError('must be a size: bytes, or a number with K, M, G or T, such as 10G');
  return value;
};

/** The content of the named file. */
function content(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new ConfigError(`cannot be read: ${(cause as NodeJS.ErrnoException).code} at ${path}`, { cause });
  }
}

/** Every setting with its default, its documentation and the check that rejects a wrong value. */
export const settings = {
  SZ_HOST: setting('host', '127.0.0.1', String).about('Address to listen on'),
  SZ_PORT: setting('port', '8080', whole(0, 65535)).about('Port to listen on; 0 takes a free one'),
  SZ_DATA: setting('dataFolder', './data', (text) => resolve(text)).about(
    'Folder for database, volumes and the system token',
  ),
  SZ_DATABASE: optional(
    'database',
    'SQLite',
    matching(/^postgres(ql)?:\/\/./, 'must be an address like postgres://user:password@host/database'),
    true,
  ).about('`postgres://user:password@host/database?schema=name` instead of SQLite in the data folder'),
  SZ_VOLUMES: optional('volumes', 'the data folder', parseS3Location).about(
    '`s3://bucket/prefix?endpoint=https://host&region=name` instead of the data folder; the keys are `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or `…_FILE`',
  ),
  SZ_WORKERS: {
    key: 'workers',
    about: 'Worker processes that share the port',
    shown: 'one for each core',
    read: (text) => (text === undefined ? availableParallelism() : whole(1, 256)(text)),
  } as Setting<'workers', number>,
  SZ_SYSTEM_TOKEN: optional(
    'systemToken',
    'a random one',
    matching(/^[\x21-\x7e]{16,}$/, 'must have at least 16 visible ASCII characters'),
    true,
  ).about('Bearer token of `admin`; when unset, one is made at the first start and kept in the data folder'),
  SZ_TLS_CERT: optional('tlsCert', '', content).about(
    'PEM file of the certificate chain; with SZ_TLS_KEY the server speaks HTTPS',
  ),
  SZ_TLS_KEY: optional('tlsKey', '', content).about("PEM file of the certificate's private key"),
  SZ_QUOTA: setting('quotaBytes', '10G', bytes(0)).about('Space for each account: bytes, or with K, M, G, T'),
  SZ_QUOTA_ENFORCE: setting('quotaEnforced', '0', flag).about(
    '1 refuses an init, complete or clone that would exceed the quota (507)',
  ),
  SZ_MAX_VOLUME: setting('maxVolumeBytes', '5G', bytes(0)).about('Largest volume: bytes, or with K, M, G, T'),
  SZ_MIN_FREE: setting('minFreeBytes', '1G', bytes(0)).about(
    'Free disk space that uploads, clones and pulls must leave (507): bytes, or with K, M, G, T',
  ),
  SZ_REGISTRATION: setting('registration', 'open', oneOf('open', 'closed', 'invite')).about(
    '`invite` needs an invitation to register, `closed` refuses everyone (403)',
  ),
  SZ_SHARES: setting('shares', 'on', (text) => oneOf('on', 'off')(text) === 'on').about(
    '`off` disables links, file requests and sharing with accounts. Owners still see theirs and can end them',
  ),
  SZ_SESSION_TTL: setting('sessionTtlMs', '2592000', seconds(1)).about(
    'Seconds a token lives after its last use',
  ),
  SZ_AUDIT_DAYS: setting('auditMs', '365', days(1, 36_500)).about('Days to keep the audit log'),
  SZ_TRANSFER_TTL: setting('transferTtlMs', '604800', seconds(1)).about(
    'Seconds an upload is kept after the last request to it',
  ),
  SZ_TRASH_DAYS: setting('trashMs', '30', days(1, 36_500)).about(
    'Days that a file stays in the trash before it is deleted',
  ),
  SZ_SWEEP_INTERVAL: setting('sweepMs', '5', seconds(1, 3600)).about(
    'Seconds between two rounds of the sweeper',
  ),
  SZ_SCRUB_DAYS: setting('scrubMs', '30', days(0, 3650)).about(
    'Days from one scrub to the next, which reads every stored volume and compares it; 0 turns it off',
  ),
  SZ_SCRUB_RATE: setting('scrubBytesPerSecond', '20000000', bytes(1)).about(
    'Bytes per second that the scrub reads at most; also with K, M or G',
  ),
  SZ_LOGIN_ATTEMPTS: setting('loginAttempts', '10', whole(1)).about(
    'Failed logins in a row, for one username from one address, before 429',
  ),
  SZ_LOGIN_ADDRESS_ATTEMPTS: setting('loginAddressAttempts', '300', whole(1)).about(
    'Failed logins from one address (IPv6: its /64), for any usernames, within SZ_LOGIN_WAIT, before 429',
  ),
  SZ_LOGIN_WAIT: setting('loginWaitMs', '60', seconds(1)).about('Seconds to wait after that'),
  SZ_OPEN_TRANSFERS: setting('openTransfers', '1000', whole(1)).about(
    'Unfinished uploads that an account may have (429)',
  ),
  SZ_OPEN_VOLUMES: setting('openVolumes', '1000000', whole(1)).about(
    'Volumes that the unfinished uploads of an account may have in total (429)',
  ),
  SZ_PULLS_ACCOUNT: setting('pullsOfAccount', '4', whole(1)).about(
    'Pulls that an account may run at once; others wait, then get 429',
  ),
  SZ_PULLS: setting('pullsOfNode', '16', whole(1)).about('Pulls that this node runs at once'),
  SZ_PULL_ALLOW: setting('pullAllow', '', parseCidrs).about(
    "Addresses that a pull may reach besides the caller's own (CIDR list)",
  ),
  SZ_TRUST_PROXY: setting('trustProxy', '', parseCidrs).about(
    'Proxies whose X-Forwarded-For is trusted (CIDR list)',
  ),
  SZ_ORIGIN: optional('origin', 'none', originOf).about(
    'Origin of the web app, as `https://files.example.org`: passkeys are bound to it. `http://` only with localhost. Without it there are no passkeys',
  ),
  SZ_ACCEL: setting('accel', '0', flag).about(
    '1 lets nginx send volumes itself (X-Accel-Redirect) where a proxy in SZ_TRUST_PROXY offers it, and the group of the server read the volumes in the data folder',
  ),
  SZ_IDLE_TIMEOUT: setting('idleMs', '60', seconds(1, 86400)).about(
    'Seconds without a byte after which a connection is closed. A JSON body must be complete by then, with one second more for every 16,000 bytes',
  ),
  SZ_SHUTDOWN_GRACE: setting('shutdownMs', '30', seconds(0, 3600)).about(
    'Seconds that running requests get to finish after SIGTERM',
  ),
  SZ_LANE: setting('lane', '1', flag).about(
    "0 leaves every connection to Node's own HTTP server, which costs uploads more CPU",
  ),
  SZ_METRICS_PORT: optional('metricsPort', 'none', whole(1, 65535)).about(
    'Port on SZ_HOST where GET /metrics needs no token; the main port always asks for the system token',
  ),
  SZ_LOG: setting('logLevel', 'info', oneOf('debug', 'info', 'warn', 'error', 'silent')).about(
    'Minimum log level: debug, info, warn, error or silent',
  ),
};

type Settings = typeof settings;
type Values = { [N in keyof Settings as Settings[N]['key']]: ReturnType<Settings[N]['read']> };

/** The settings as the server uses them: times in milliseconds, lists parsed. */
export interface Config extends Omit<Values, 'tlsCert' | 'tlsKey' | 'volumes'> {
  /** Undefined: volumes are in the data folder. */
  s3: { location: S3Location; credentials: S3Credentials } | undefined;
  tls: Tls | undefined;
}

function readSetting(name: keyof Settings, env: NodeJS.ProcessEnv): unknown {
  try {
    return settings[name].read(textOf(name, settings[name], env));
  } catch (cause) {
    throw new ConfigError(`${name} ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
}

export function readConfig(env: NodeJS.ProcessEnv): Config {
  for (const name of Object.keys(env)) {
    if (name.startsWith('SZ_') && !isKnown(name))
      throw new ConfigError(`${name} is not a setting of this server; README.md lists them all`);
  }
  const names = Object.keys(settings) as (keyof Settings)[];
  const values = Object.fromEntries(
    names.map((name) => [settings[name].key, readSetting(name, env)]),
  ) as Values;
  const { tlsCert, tlsKey, volumes, ...config } = values;
  if (config.accel && config.trustProxy.isEmpty)
    throw new ConfigError('SZ_ACCEL needs SZ_TRUST_PROXY, the address of the nginx that is to send volumes');
  const s3 = volumes && { location: volumes, credentials: readCredentials(env) };
  return { ...config, s3, tls: checkTls(tlsCert, tlsKey) };
}

/** Reads the files of the certificate and its key again. */
export function readTls(env: NodeJS.ProcessEnv): Tls | undefined {
  const [cert, key] = [readSetting('SZ_TLS_CERT', env), readSetting('SZ_TLS_KEY', env)];
  return checkTls(cert as string | undefined, key as string | undefined);
}

function checkTls(cert: string | undefined, key: string | undefined): Tls | undefined {
  if (cert === undefined && key === undefined) return undefined;
  if (cert === undefined || key === undefined)
    throw new ConfigError('SZ_TLS_CERT and SZ_TLS_KEY must be set together');
  try {
    createSecureContext({ cert, key });
    // createSecureContext accepts an empty file.
    new X509Certificate(cert);
  } catch (cause) {
    throw new ConfigError(`SZ_TLS_CERT and SZ_TLS_KEY cannot be used: ${(cause as Error).message}`, {
      cause,
    });
  }
  return { cert, key };
}

/** Settings of the client and of the setup script: they may be set in the same shell. */
const CLIENT_SETTINGS: ReadonlySet<string> = new Set([...clientSettings, 'SZ_NO_APT']);

function isKnown(name: string): boolean {
  if (name in settings || CLIENT_SETTINGS.has(name) || name.startsWith('SZ_TEST_')) return true;
  const base = settings[name.replace(/_FILE$/, '') as keyof Settings] as { secret?: boolean } | undefined;
  return base?.secret === true;
}

/** Reads the variables that every S3 tool uses. */
function readCredentials(env: NodeJS.ProcessEnv): S3Credentials {
  const read = (name: string) => {
    const value = textOf(name, { secret: true }, env);
    if (value === undefined)
      throw new ConfigError(`${name} or ${name}_FILE must be set: SZ_VOLUMES needs it`);
    return value;
  };
  return { accessKeyId: read('AWS_ACCESS_KEY_ID'), secretAccessKey: read('AWS_SECRET_ACCESS_KEY') };
}

function textOf(name: string, { secret }: { secret?: boolean }, env: NodeJS.ProcessEnv): string | undefined {
  const file = secret ? env[`${name}_FILE`] : undefined;
  if (file === undefined || file === '') return env[name] === '' ? undefined : env[name];
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new ConfigError(`cannot be read from ${name}_FILE: ${code} at ${file}`, { cause });
  }
}
