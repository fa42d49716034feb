import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Config, readConfig, settings } from '../src/config.ts';
import { ConfigError } from '../src/platform/errors.ts';

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'szafa-config-'));
});
after(() => rm(folder, { recursive: true, force: true }));

const token = 'sixteen-or-more-characters';

/** For each setting: where it goes, texts that are taken with their value, and texts that are refused. */
const table: Record<keyof typeof settings, [keyof Config, Record<string, unknown>, string[]]> = {
  SZ_HOST: ['host', { '::1': '::1' }, []],
  SZ_PORT: ['port', { 0: 0, 65535: 65535 }, ['65536', '-1', 'http', '80.5', '0x50', ' 80', '1e3']],
  SZ_DATA: ['dataFolder', { '/x/y': '/x/y', d: resolve('d') }, []],
  SZ_DATABASE: [
    'database',
    { 'postgres://a@b/c': 'postgres://a@b/c' },
    ['mysql://a', 'postgres:', 'szafa.db'],
  ],
  SZ_VOLUMES: [
    's3',
    {},
    ['s3:bucket', '/folder', 's3://b', 's3://bucket/p?endpoint=x', 's3://bucket?speed=9', 's3://bucket/ż'],
  ],
  SZ_WORKERS: ['workers', { 1: 1, 256: 256 }, ['0', '257', 'all']],
  SZ_SYSTEM_TOKEN: ['systemToken', { [token]: token }, ['short', `${token} with blanks`, `${token}ż`]],
  SZ_TLS_CERT: ['tls', {}, ['/no/such/file']],
  SZ_TLS_KEY: ['tls', {}, ['/no/such/file']],
  SZ_QUOTA: [
    'quotaBytes',
    { 0: 0, '10G': 10 * 1024 ** 3, [2 ** 53 - 1]: 2 ** 53 - 1 },
    ['-1', '9007199254740992', '10GB', 'NaN'],
  ],
  SZ_QUOTA_ENFORCE: ['quotaEnforced', { 0: false, 1: true }, ['yes', 'true', '2']],
  SZ_MAX_VOLUME: ['maxVolumeBytes', { 1: 1, '5g': 5 * 1024 ** 3 }, ['5X', '-1']],
  SZ_MIN_FREE: ['minFreeBytes', { 0: 0 }, ['-1', '1.5']],
  SZ_REGISTRATION: [
    'registration',
    { open: 'open', closed: 'closed', invite: 'invite' },
    ['Closed', 'no', 'invited'],
  ],
  SZ_AUDIT_DAYS: ['auditMs', { 2: 172_800_000 }, ['0', '1d']],
  SZ_SHARES: ['shares', { off: false }, ['yes', '1']],
  SZ_SESSION_TTL: ['sessionTtlMs', { 60: 60_000 }, ['0', '1d']],
  SZ_TRANSFER_TTL: ['transferTtlMs', { 60: 60_000 }, ['0', '-5']],
  SZ_SWEEP_INTERVAL: ['sweepMs', { 1: 1000 }, ['0', '3601']],
  SZ_TRASH_DAYS: ['trashMs', { 30: 30 * 86_400_000 }, ['0', '36501', 'x']],
  SZ_SCRUB_DAYS: ['scrubMs', { 0: 0, 30: 30 * 86_400_000 }, ['-1', '3651', 'x']],
  SZ_SCRUB_RATE: ['scrubBytesPerSecond', { 1: 1, 5000000: 5_000_000 }, ['0', 'x']],
  SZ_LOGIN_ATTEMPTS: ['loginAttempts', { 3: 3 }, ['0', 'x']],
  SZ_LOGIN_ADDRESS_ATTEMPTS: ['loginAddressAttempts', { 3: 3 }, ['0', 'x']],
  SZ_OPEN_TRANSFERS: ['openTransfers', { 1: 1 }, ['0', '-1']],
  SZ_OPEN_VOLUMES: ['openVolumes', { 1: 1 }, ['0', 'all']],
  SZ_PULLS_ACCOUNT: ['pullsOfAccount', { 1: 1 }, ['0']],
  SZ_PULLS: ['pullsOfNode', { 1: 1 }, ['0']],
  SZ_LOGIN_WAIT: ['loginWaitMs', { 2: 2000 }, ['0', '-1']],
  SZ_PULL_ALLOW: ['pullAllow', {}, ['10.0.0.0/33', 'localhost', '10.0.0']],
  SZ_TRUST_PROXY: ['trustProxy', {}, ['::1/129', 'proxy']],
  SZ_ORIGIN: [
    'origin',
    {
      'https://files.example.org': 'https://files.example.org',
      'https://a.example:8443/': 'https://a.example:8443',
      'http://localhost:8080': 'http://localhost:8080',
      'http://szafa.localhost': 'http://szafa.localhost',
    },
    [
      ...['files.example.org', 'http://files.example.org', 'https://files.example.org/szafa', 'https://'],
      ...[
        'https://192.0.2.1',
        'https://[::1]',
        'http://127.0.0.1:8080',
        'https://a@b.example',
        'ftp://a.example',
      ],
      ...['http://localhost.example.org', 'https://a.example?x', 'HTTPS://A.EXAMPLE'],
    ],
  ],
  // By itself; with a proxy it is taken.
  SZ_ACCEL: ['accel', { 0: false }, ['yes', '2', '1']],
  SZ_IDLE_TIMEOUT: ['idleMs', { 5: 5000 }, ['0', '86401']],
  SZ_SHUTDOWN_GRACE: ['shutdownMs', { 0: 0, 9: 9000 }, ['-1', '3601']],
  SZ_LANE: ['lane', { 0: false, 1: true }, ['off', '2']],
  SZ_METRICS_PORT: ['metricsPort', { 9: 9 }, ['0', '65536', 'x']],
  SZ_LOG: ['logLevel', { silent: 'silent', debug: 'debug' }, ['verbose', 'INFO']],
};

test('the table of this test has every setting, and every setting is documented', () => {
  assert.deepEqual(Object.keys(table).sort(), Object.keys(settings).sort());
  for (const { about, shown } of Object.values(settings)) {
    assert.ok(about.length > 5);
    assert.equal(typeof shown, 'string');
  }
});

for (const [name, [key, taken, refused]] of Object.entries(table)) {
  test(`${name}: right values are taken, wrong ones refused with its name`, () => {
    for (const [text, value] of Object.entries(taken)) {
      assert.deepEqual(readConfig({ [name]: text })[key], value, text);
    }
    for (const text of refused) {
      const refusal = (error: unknown) =>
        error instanceof ConfigError && error.message.startsWith(`${name} `);
      assert.throws(() => readConfig({ [name]: text }), refusal, `${name}=${text}`);
    }
    assert.deepEqual(readConfig({ [name]: '' })[key], readConfig({})[key], 'empty is as good as unset');
  });
}

test('the defaults are those of the documentation', () => {
  const { pullAllow, trustProxy, ...rest } = readConfig({ PATH: '/bin', NODE_ENV: 'x' });
  assert.equal(pullAllow.contains('127.0.0.1'), false);
  assert.equal(trustProxy.contains('127.0.0.1'), false);
  assert.partialDeepStrictEqual(rest, {
    host: '127.0.0.1',
    port: 8080,
    dataFolder: resolve('data'),
    workers: availableParallelism(),
    systemToken: undefined,
    quotaBytes: 10 * 1024 ** 3,
    quotaEnforced: false,
    maxVolumeBytes: 5 * 1024 ** 3,
    minFreeBytes: 1024 ** 3,
    registration: 'open',
    sessionTtlMs: 30 * 86_400_000,
    transferTtlMs: 7 * 86_400_000,
  });
});

test('volumes are sent by a proxy that is named', () => {
  assert.equal(readConfig({ SZ_ACCEL: '1', SZ_TRUST_PROXY: '127.0.0.1' }).accel, true);
  const message = /^SZ_ACCEL needs SZ_TRUST_PROXY/;
  assert.throws(() => readConfig({ SZ_ACCEL: '1', SZ_TRUST_PROXY: ' ' }), { name: 'ConfigError', message });
});

test('TLS needs a certificate and its key', async () => {
  const pem = fileURLToPath(new URL('pull/tls.pem', import.meta.url));
  const { tls } = readConfig({ SZ_TLS_CERT: pem, SZ_TLS_KEY: pem });
  assert.ok(tls?.cert.includes('CERTIFICATE') && tls.key.includes('PRIVATE KEY'));
  const broken = join(folder, 'broken.pem');
  await writeFile(broken, 'no PEM');
  for (const env of [{ SZ_TLS_CERT: pem }, { SZ_TLS_KEY: pem }, { SZ_TLS_CERT: pem, SZ_TLS_KEY: broken }]) {
    assert.throws(() => readConfig(env), { name: 'ConfigError', message: /^SZ_TLS_CERT and SZ_TLS_KEY / });
  }
});

test('lists of networks', () => {
  const { pullAllow } = readConfig({ SZ_PULL_ALLOW: '10.0.0.0/8, 192.168.1.5 fd00::/8' });
  for (const inside of ['10.255.0.1', '192.168.1.5', 'fd12::1', '::ffff:10.0.0.1']) {
    assert.equal(pullAllow.contains(inside), true, inside);
  }
  for (const outside of ['11.0.0.1', '192.168.1.6', 'fe80::1', 'nonsense']) {
    assert.equal(pullAllow.contains(outside), false, outside);
  }
});

test('a name with our prefix that is no setting is refused: it would be a typing error', () => {
  for (const name of ['SZ_QOUTA', 'SZ_', 'SZ_PORT_FILE', 'SZ_toString', 'SZ_QUOTA_FILE']) {
    assert.throws(() => readConfig({ [name]: '1' }), {
      name: 'ConfigError',
      message: new RegExp(`^${name} is not a setting`),
    });
  }
});

test('a secret can come from a file, which is stronger than the variable', async () => {
  const file = join(folder, 'token');
  await writeFile(file, `${token}-of-the-file\n`);
  const env = { SZ_SYSTEM_TOKEN_FILE: file };
  assert.equal(readConfig(env).systemToken, `${token}-of-the-file`);
  assert.equal(readConfig({ ...env, SZ_SYSTEM_TOKEN: token }).systemToken, `${token}-of-the-file`);
  assert.equal(readConfig({ SZ_SYSTEM_TOKEN_FILE: '' }).systemToken, undefined);
  await writeFile(file, 'short');
  assert.throws(() => readConfig(env), { name: 'ConfigError', message: /^SZ_SYSTEM_TOKEN / });
  const missing = join(folder, 'nothing');
  assert.throws(() => readConfig({ SZ_SYSTEM_TOKEN_FILE: missing }), {
    name: 'ConfigError',
    message: /^SZ_SYSTEM_TOKEN.*_FILE.*ENOENT/,
  });
});

test('a refusal never quotes a secret', () => {
  assert.throws(
    () => readConfig({ SZ_SYSTEM_TOKEN: 'hunter2' }),
    (error: Error) => !error.message.includes('hunter2'),
  );
});

test('SZ_VOLUMES names a place and needs keys, which may come from files', async () => {
  const SZ_VOLUMES = 's3://bucket/a/b/?endpoint=http%3A%2F%2F127.0.0.1%3A9&region=x';
  assert.throws(() => readConfig({ SZ_VOLUMES }), /AWS_ACCESS_KEY_ID/);
  await writeFile(join(folder, 'key'), 'from file\n');
  const env = { SZ_VOLUMES, AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY_FILE: join(folder, 'key') };
  const { location, credentials } = readConfig(env).s3!;
  assert.deepEqual(credentials, { accessKeyId: 'id', secretAccessKey: 'from file' });
  assert.deepEqual(location, {
    bucket: 'bucket',
    prefix: 'a/b/',
    endpoint: new URL('http://127.0.0.1:9'),
    region: 'x',
  });
});
