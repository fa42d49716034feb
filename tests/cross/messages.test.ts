import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { useService } from '../harness/index.ts';
import { PASSWORD, useDevice } from './account.ts';
import { assertError } from './device.ts';

const service = useService();

suite('szafa: messages that say what to do', { concurrency: 3 }, () => {
  const shared = useDevice(service);

  test('a username that is taken, and a session of somebody else', async () => {
    const { device } = shared;
    const name = device.env['SZ_USER']!;
    const again = await device.run(['register'], {
      env: { SZ_PASSWORD: PASSWORD, SZ_CONFIG: device.path('second') },
    });
    assertError(again, 1, /is taken/, new RegExp(`choose another, or .*szafa login ${name}`));
    const bob = await device.run(['ls'], { env: { SZ_USER: 'bob' } });
    assertError(
      bob,
      1,
      new RegExp(`no session for bob at .* \\(the stored session is for ${name} at `),
      /szafa login/,
    );
    const none = await device.run(['ls'], { env: { SZ_CONFIG: device.path('third') } });
    assertError(none, 1, /not logged in/);
  });

  test('http where it should be https, and the other way round', async () => {
    await using stack = new AsyncDisposableStack();
    const { device } = shared;
    const env = { SZ_TOKEN: 'x', SZ_USER: 'ewa' };
    const plain = await device.run(['quota', '--retry', '0'], {
      env: { ...env, SZ_SERVER: service.url.replace('http:', 'https:') },
    });
    assertError(plain, 1, /./, /there is no TLS there/);
    const pem = await readFile(fileURLToPath(new URL('./certificates/self-signed.pem', import.meta.url)));
    const server = createHttps({ key: pem, cert: pem });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    stack.defer(() => {
      server.close();
    });
    const SZ_SERVER = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    assertError(
      await device.run(['quota', '--retry', '0'], { env: { ...env, SZ_SERVER } }),
      1,
      /./,
      /https:\/\//,
    );
  });

  test('a pipe in place of a file, a rate below zero, a name that is no path', async () => {
    const { device } = shared;
    execFileSync('mkfifo', [device.path('fifo')]);
    assertError(await device.run(['put', 'fifo']), 1, /fifo: is a pipe/, /szafa put - --name/);
    await writeFile(device.path('slowly'), 'x');
    assertError(await device.run(['put', 'slowly', '--bwlimit', '-1']), 2, /--bwlimit: "-1" is not a rate/);
    await device.ok(['put', '-', '--name', 'st', '--dir', 'docs/2026'], { input: 'x' });
    for (const args of [
      ['get', 'st'],
      ['cp', 'st', 'x'],
      ['mv', 'st', 'x'],
      ['rm', 'st'],
    ]) {
      assertError(await device.run(args), 1, /there is no file or folder "st"/, /docs\/2026\/st/);
    }
  });

  test('a pipe or a folder where the command keeps something is named, and not waited for', async () => {
    const { device } = shared;
    const { server, username } = JSON.parse(await readFile(device.path('config/session.json'), 'utf8'));
    await writeFile(device.path('kept'), Buffer.alloc(200_000));
    const about = ['upload', server, username, device.path('kept'), 'kept'];
    const key = createHash('sha256').update(JSON.stringify(about)).digest('hex');
    await mkdir(device.path('config/journal'), { recursive: true });
    await mkdir(device.path('other'));
    for (const [path, args] of [
      [`config/journal/${key}.journal`, ['put', 'kept', '--volume-size', '64K']],
      ['other/session.json', ['ls', '--config', 'other']],
    ] as const) {
      for (const make of ['mkfifo', 'mkdir']) {
        execFileSync(make, [device.path(path)]);
        const told = await device.run([...args]);
        assertError(
          told,
          1,
          new RegExp(`${path} is in the way: it is not a file`),
          /move it away or delete it/,
        );
        await rm(device.path(path), { recursive: true });
      }
    }
    await device.ok(['put', 'kept', '--volume-size', '64K']);
  });

  test('«the same command again» only where that can help', async () => {
    const { device } = shared;
    await writeFile(device.path('there'), 'x');
    const put = await device.run(['put', 'there', 'not-there', 'nor-this']);
    assertError(put, 3, /2 of 3 items failed/, /see the errors above/);
    const env = { SZ_SERVER: 'http://127.0.0.1:1', SZ_TOKEN: 'x', SZ_PASSWORD: PASSWORD };
    const away = await device.run(['put', 'there', '--retry', '0'], { env });
    assertError(away, 1, /cannot be reached/, /same command again/);
  });

  test('names with a replacement character, and names of dots, come back as they are', async () => {
    const { device } = shared;
    await mkdir(device.path('odd'));
    await writeFile(device.path('odd/a\ufffdb'), 'replaced');
    await device.ok(['put', 'odd']);
    await device.ok(['put', '-', '--name', '...', '--dir', 'odd'], { input: 'dots' });
    await device.ok(['get', 'odd/*', '--output', 'even']);
    assert.deepEqual((await readdir(device.path('even'))).sort(), ['...', 'a\ufffdb']);
  });
});
