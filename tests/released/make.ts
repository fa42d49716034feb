/**
 * Makes the fixture of a release: `scripts/node tests/released/make.ts`, once, when the version is cut. It holds what people have who run
 * that version: a data folder, a PostgreSQL dump with its volumes, and the client state of a device that was killed in an upload.
 * Needs Debian's PostgreSQL for pg_dump.
 */
import { execFileSync } from 'node:child_process';
import { createHash, hash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { version } from '../../scripts/version.ts';
import { Device } from '../cross/device.ts';
import { freePort } from '../engines/daemon.ts';
import { Service } from '../harness/index.ts';
import { ROOT } from '../setup/installation.ts';
import { claimHome, HOME, PASSWORD, PORT, UNFINISHED, USERNAME } from './contents.ts';

const folder = join(ROOT, 'tests/released', version);
const command = [join(ROOT, 'server/bin/szafa-server')];
const pack = (name: string, from: string, ...paths: string[]) =>
  execFileSync('tar', [
    '-czf',
    join(folder, name),
    '--sort=name',
    '--owner=0',
    '--group=0',
    '-C',
    from,
    ...paths,
  ]);

/** Bytes that look random and are the same in every run. */
function bytes(name: string, size: number): Buffer {
  const parts = Array.from({ length: Math.ceil(size / 32) }, (_, at) =>
    hash('sha256', `${name} ${at}`, 'buffer'),
  );
  return Buffer.concat(parts).subarray(0, size);
}

/** Fills the account, and returns the SHA-256 of every file that the newest state has. */
async function fill(device: Device): Promise<Record<string, string>> {
  const contents: Record<string, Buffer> = {
    'tree/letter.txt': Buffer.from('dear reader\n'),
    'tree/empty': Buffer.alloc(0),
    'tree/photos/żółw.bin': bytes('photo', 40_000),
    'tree/photos/large.bin': bytes('large', 150_000),
  };
  await mkdir(device.path('tree/photos'), { recursive: true });
  await mkdir(device.path('tree/an empty folder'));
  for (const [path, content] of Object.entries(contents)) await writeFile(device.path(path), content);
  await symlink('letter.txt', device.path('tree/a link'));
  await device.ok(['put', 'tree', '--volume-size', '64K']);
  contents['tree/letter.txt'] = Buffer.from('dear reader, again\n');
  await writeFile(device.path('tree/letter.txt'), contents['tree/letter.txt']);
  await device.ok(['put', 'tree']);
  await writeFile(device.path('trashed'), 'thrown away');
  await device.ok(['put', 'trashed']);
  await device.ok(['rm', 'trashed']);
  await device.ok(['share', 'tree/photos']);
  await device.ok(['request', 'inbox']);
  await device.ok([
    'token',
    'create',
    'backup',
    '--scope',
    'append',
    '--dir',
    'tree',
    '--output',
    'token.json',
  ]);
  const digest = (content: Buffer) => createHash('sha256').update(content).digest('hex');
  return Object.fromEntries(Object.entries(contents).map(([path, content]) => [path, digest(content)]));
}

async function deviceAt(service: Service): Promise<Device> {
  const password = join(service.home, 'password');
  writeFileSync(password, PASSWORD);
  const device = await Device.make(service.url, { SZ_USER: USERNAME, SZ_PASSWORD_FILE: password });
  await device.ok(['register']);
  return device;
}

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

const service = await new Service({ command, env: { SZ_PORT: String(PORT) } }).start();
const device = await deviceAt(service);
const files = await fill(device);
await claimHome();
cpSync(device.path('config'), join(HOME, 'config'), { recursive: true });
await writeFile(join(HOME, UNFINISHED), 'not yet whole '.repeat(40_000));
const slowly = ['--volume-size', '64K', '--bwlimit', '128K', '--json'];
const put = device.start(['put', UNFINISHED, ...slowly], {
  cwd: HOME,
  env: { SZ_CONFIG: join(HOME, 'config') },
});
await put.moved(200_000);
put.child.kill('SIGKILL');
await put.ended;
await service.terminate();
pack('sqlite.tar.gz', service.home, 'data');
pack('client.tar.gz', HOME, 'config', UNFINISHED);
rmSync(HOME, { recursive: true });
await device.remove();
await service.stop();

const home = mkdtempSync(join(tmpdir(), 'szafa-release-'));
const asPostgres = (...args: string[]) =>
  execFileSync('setpriv', ['--reuid', 'nobody', '--clear-groups', ...args], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
const programs = execFileSync('pg_config', ['--bindir'], { encoding: 'utf8' }).trim();
const [database, port] = [join(home, 'database'), await freePort()];
mkdirSync(database);
execFileSync('chown', ['nobody', home, database]);
asPostgres(
  join(programs, 'initdb'),
  '-D',
  database,
  '-U',
  'szafa',
  '--auth=trust',
  '-E',
  'UTF8',
  '--no-locale',
);
const options = `-p ${port} -k ${home} -c listen_addresses=127.0.0.1`;
asPostgres(join(programs, 'pg_ctl'), '-D', database, '-w', '-l', join(home, 'log'), '-o', options, 'start');
try {
  const url = `postgres://szafa@127.0.0.1:${port}/postgres`;
  const second = await new Service({ command, env: { SZ_DATABASE: `${url}?schema=szafa` } }).start();
  const other = await deviceAt(second);
  await fill(other);
  await other.remove();
  await second.terminate();
  const dump = asPostgres(join(programs, 'pg_dump'), '--inserts', '--no-owner', '--schema=szafa', url);
  // Commands of psql; the test sends the rest as it is.
  writeFileSync(join(second.home, 'dump.sql'), dump.replace(/^\\.*\n/gm, ''));
  pack('postgres.tar.gz', second.home, 'data', 'dump.sql');
  await second.stop();
} finally {
  asPostgres(join(programs, 'pg_ctl'), '-D', database, '-m', 'fast', 'stop');
  rmSync(home, { recursive: true, force: true });
}
writeFileSync(join(folder, 'files.json'), `${JSON.stringify(files, undefined, 2)}\n`);
for (const name of ['sqlite', 'postgres', 'client'])
  console.log(`${name}: ${readFileSync(join(folder, `${name}.tar.gz`)).length} bytes`);
