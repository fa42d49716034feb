import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { chmod, chown, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer as createHttp } from 'node:http';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bytesSource, type Entry, Szafa } from '@szafa/client';
import { parseHeader, resealHeader, sealFileName } from '@szafa/format';
import { encodeEncParams } from '@szafa/protocol';
import { renameFiles } from '../../client/src/files/calls.ts';
import { readVolumeHeaders } from '../../client/src/transfers/calls.ts';
import { useService } from '../harness/index.ts';
import { loggedIn, PASSWORD, useDevice } from './account.ts';
import { assertError } from './device.ts';
import { packedCommand } from './packed.ts';

const NOBODY = 65534;

async function listen(stack: AsyncDisposableStack, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stack.defer(() => {
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** As `rename` does, but for the check of the path. */
async function giveAnyPath({ api, engine, keys }: Szafa, { fileId, record }: Entry, name: string) {
  const { encParams, encParamsText } = await readVolumeHeaders(api, fileId, 1);
  const parsed = parseHeader(encParams);
  const current = await keys.current();
  const header = await resealHeader(engine, parsed, await keys.master(parsed.epoch), current, () => ({
    name,
  }));
  const binding = { totalSha256: record.sha256, storedSize: record.size, count: record.chunk_count };
  const renamed = {
    file_id: fileId,
    file_name: await sealFileName(engine, current.key, header.metadata, binding),
    enc_params: encodeEncParams(header.encParams),
    match: createHash('sha256').update(encParamsText).digest('hex'),
  };
  assert.deepEqual(await renameFiles(api, { files: [renamed] }), []);
}

const service = useService();

suite('szafa: bad input', { concurrency: 3 }, () => {
  const shared = useDevice(service);

  test('missing files: the others go up, and the exit code says that some failed', async () => {
    const { device } = shared;
    await writeFile(device.path('here'), 'here');
    assertError(await device.run(['put', 'nowhere']), 1, /^szafa: nowhere: no such file/);
    const some = await device.run(['put', 'here', 'nowhere']);
    assertError(some, 3, /^szafa: nowhere: no such file/);
    assertError(some, 3, /1 of 2 items failed/);
    assert.match(some.stdout, /put here/);
    assertError(
      await device.run(['get', 'here', 'not there', '-o', 'x/']),
      3,
      /no file or folder "not there"/,
    );
    assert.equal(await readFile(device.path('x/here'), 'utf8'), 'here');
  });

  test('files and folders without permission', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await loggedIn(service);
    stack.defer(() => device.remove());
    const tree = device.path('tree');
    await mkdir(`${tree}/closed`, { recursive: true });
    await writeFile(`${tree}/open`, 'open');
    await writeFile(`${tree}/secret`, 'secret');
    // Root may read everything: then somebody else does it.
    const root = process.getuid?.() === 0;
    if (root) {
      for (const path of [
        '',
        'config',
        ...(await readdir(device.path('config'))).map((name) => `config/${name}`),
      ]) {
        await chown(device.path(path), NOBODY, NOBODY);
      }
      await chmod(packedCommand().replace(/\/[^/]+$/, ''), 0o755);
    }
    await chmod(`${tree}/closed`, 0o700);
    await chmod(`${tree}/secret`, 0o600);
    if (!root) {
      await chmod(`${tree}/closed`, 0);
      await chmod(`${tree}/secret`, 0);
      stack.defer(() => chmod(`${tree}/closed`, 0o700));
    }
    const as = root ? { uid: NOBODY } : {};
    const put = await device.run(['put', 'tree'], as);
    assertError(put, 3, /tree\/closed: no permission/);
    assertError(put, 3, /tree\/secret: no permission/);
    assert.match(put.stdout, /put tree\/open/);

    await mkdir(device.path('locked'), { mode: 0o555 });
    const get = await device.run(['get', 'tree/open', '-o', 'locked/'], as);
    assertError(get, 1, /open: no permission/);
    const env = { SZ_CONFIG: '/dev/null/config', SZ_PASSWORD: PASSWORD };
    assertError(
      await device.run(['login'], { ...as, env }),
      1,
      /\/dev\/null\/config cannot be used/,
      /SZ_CONFIG/,
    );
  });

  test('a name of 4 KB, below folders, comes back whole', async () => {
    const { device } = shared;
    const name = Array.from({ length: 16 }, (_, i) => `${i}`.padStart(250, 'n')).join('/');
    await device.ok(['put', '-', '--name', name, '--dir', 'long'], { input: 'deep' });
    const line = (await device.ok(['ls', '-R', 'long', '--json'])).line('file');
    assert.equal(line['path'], `long/${name}`);
    await device.ok(['get', 'long']);
    assert.equal(await readFile(device.path(`long/${name}`), 'utf8'), 'deep');
    const more = await device.run(['put', '-', '--name', 'n'.repeat(20_000)], { input: 'x' });
    assertError(more, 1, /./, /shorter|name/);
    assert.ok(more.stderr.length < 1000, 'the message stays short');
  });

  test('names with newlines, escapes and paths reach neither the terminal nor other folders', async () => {
    const { device } = shared;
    const names = ['../../escape', '/etc/absolute', 'red\u001b[31m\nline', 'a/../../b', 'right\u202eto-left'];
    assertError(await device.run(['put', '-', '--name', names[0]!], { input: 'x' }), 2, /is no path/);
    // Another client of ours may have written such names.
    const session = JSON.parse(await readFile(device.path('config/session.json'), 'utf8'));
    const kek = new Uint8Array(Buffer.from(session.kek, 'base64url'));
    const szafa = await Szafa.open({ server: service.url }, { ...session, kek });
    for (const [i, name] of names.entries()) {
      await szafa.upload(bytesSource(Buffer.from(String(i))), { path: `hostile/${i}` });
      const entry = (await szafa.list()).find(({ path }) => path === `hostile/${i}`)!;
      await giveAnyPath(szafa, entry, `hostile/${name}`);
    }
    const shown = (await device.ok(['ls', '-R', 'hostile/'])).stdout;
    assert.doesNotMatch(shown, /[\u001b\u202e]/);
    await mkdir(device.path('cage/in'), { recursive: true });
    const get = await device.ok(['get', 'hostile'], { cwd: device.path('cage/in') });
    assert.doesNotMatch(get.stdout, /[\u001b\u202e]/);
    assert.deepEqual(await readdir(device.path('cage')), ['in']);
    const files = await readdir(device.path('cage/in/hostile'), { recursive: true });
    const expected = [
      'a',
      'a/b',
      'escape',
      'etc',
      'etc/absolute',
      'red\u001b[31m\nline',
      'right\u202eto-left',
    ];
    assert.deepEqual(files.sort(), expected);
    const missing = await device.run(['get', 'no\u001b[2Jsuch\nfile']);
    assertError(missing, 1, /there is no file/);
    assert.doesNotMatch(missing.stderr, /\u001b/);
  });

  test('two names of somebody else that become one path: the first is kept, the second is refused', async () => {
    const { device } = shared;
    for (const name of ['x\\y', 'x_y'])
      await device.ok(['put', '-', '--name', name, '--dir', 'twins'], { input: name });
    const { link } = (await device.ok(['share', 'twins', '--json'])).line('link');
    assertError(await device.run(['get', String(link), '--yes']), 3, /same path/, /one by one/);
    assert.deepEqual(await readdir(device.path('twins')), ['x_y']);
    await device.ok(['get', 'twins', '--output', 'own']);
    assert.deepEqual((await readdir(device.path('own/twins'))).sort(), ['x\\y', 'x_y']);
  });

  test('a full disk on get: no half file, and the space is free again', async () => {
    const { device } = shared;
    await writeFile(device.path('large'), randomBytes(6_000_000));
    await device.ok(['put', 'large', '--volume-size', '1M']);
    const disk = device.path('disk');
    await mkdir(disk);
    const script = `mount -t tmpfs -o size=3m none "${disk}" && cd "${disk}" && "$@"; code=$?; ls -A "${disk}" >&2; exit $code`;
    const command = ['unshare', '-rm', 'sh', '-c', script, 'sh', process.execPath, packedCommand()];
    const full = await device.run(['get', 'large'], { command });
    assertError(full, 1, /large: no space left/, /free some space/);
    assert.match(full.stderr, /hint: [^\n]*\n$/, 'nothing is left on the disk');
  });

  test('something that is not the service: a web page, JSON of another kind, no HTTP at all', async () => {
    await using stack = new AsyncDisposableStack();
    const { device } = shared;
    const page = createHttp((_request, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Log in to the hotel</h1>'),
    );
    const env = { SZ_SERVER: `http://127.0.0.1:${await listen(stack, page)}`, SZ_TOKEN: 'x', SZ_USER: 'ewa' };
    assertError(await device.run(['quota'], { env }), 1, /answered 200 with a web page/, /address/);
    const login = await device.run(['login'], { env: { ...env, SZ_PASSWORD: 'long enough' } });
    assertError(login, 1, /web page/);
    const nothing = await device.run(['whoami', '--retry', '0'], {
      env: { ...env, SZ_SERVER: 'http://127.0.0.1:1' },
    });
    assertError(nothing, 1, /cannot be reached/, /address/);
    assertError(await device.run(['whoami', '--server', 'nonsense'], { env }), 2, /not an address/, /https:/);
  });

  test('a certificate that is not trusted, and one that this clock does not accept', async () => {
    await using stack = new AsyncDisposableStack();
    const { device } = shared;
    const serve = async (name: string) => {
      const path = fileURLToPath(new URL(`./certificates/${name}`, import.meta.url));
      const pem = await readFile(path);
      const server = createHttps({ key: pem, cert: pem }, (_request, response) =>
        response.end(JSON.stringify({ used_bytes: 0, quota_bytes: 1, remain_bytes: 1, percent: 0 })),
      );
      const SZ_SERVER = `https://localhost:${await listen(stack, server)}`;
      return { path, env: { SZ_SERVER, SZ_TOKEN: 'x', SZ_USER: 'ewa' } };
    };
    const own = await serve('self-signed.pem');
    assertError(await device.run(['quota'], own), 1, /certificate .* not accepted/, /NODE_EXTRA_CA_CERTS/);
    await device.ok(['quota'], { env: { ...own.env, NODE_EXTRA_CA_CERTS: own.path } });
    const early = await serve('not-yet-valid.pem');
    const trusted = { ...early.env, NODE_EXTRA_CA_CERTS: early.path };
    assertError(await device.run(['quota'], { env: trusted }), 1, /not yet valid/, /clock says \d{4}-/);
  });

  test('a session file that is damaged', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await loggedIn(service);
    stack.defer(() => device.remove());
    await writeFile(device.path('config/session.json'), '{"server":');
    assertError(await device.run(['ls']), 1, /session\.json is damaged/, /szafa login/);
    assert.equal((await stat(device.path('config/session.json'))).size, 10);
  });

  test('wrong usage is 2, says what, and points to the help', async () => {
    const { device } = shared;
    await writeFile(device.path('tiny'), 'x');
    for (const [args, message] of [
      [['ptu', 'x'], /no command "ptu"/],
      [['put'], /put needs PATH/],
      [['put', 'tiny', '--transfers', 'many'], /--transfers: "many" is not a number/],
      [['put', 'tiny', '--volume-size', '0'], /--volume-size: "0" is not a size/],
      [['put', 'tiny', '--bwlimit', 'fast'], /--bwlimit: "fast" is not a rate/],
      [['put', 'tiny', '--volume-size', '2G'], /a volume must have/],
      [['put', 'tiny', '--password', 'p'], /unknown option '--password'/],
      [['get'], /get needs PATH/],
      [['mv', 'a'], /mv needs PATH… PATH/],
      [['mkdir', 'a/../b'], /is no path/],
      [['rename', 'a', 'b/c'], /is not a name/],
      [['prune'], /needs --keep N, --older TIME or both/],
      [['prune', '--older', 'soon'], /--older: "soon" is not an age/],
      [['put', 'tiny', '--both', '--skip-existing'], /--skip-existing and --both cannot be combined/],
      [['whoami', 'x'], /no argument/],
    ] as [string[], RegExp][]) {
      assertError(await device.run(args), 2, message);
    }
  });
});
