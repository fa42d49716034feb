/** The command and a link whose owner means harm, or whose server does. */
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite, test } from 'node:test';
import { bytesSource, type ShareItem, type Szafa } from '@szafa/client';
import { headers } from '@szafa/protocol';
import { newUser, quick } from '../../client/test/service.ts';
import { loggedIn } from '../cross/account.ts';
import { assertError, Device } from '../cross/device.ts';
import { useService } from '../harness/index.ts';

const service = useService();

const owner = (): Promise<Szafa> => newUser(service.url, { engine: quick });

interface Given {
  name: string;
  mtime?: number;
  text?: string;
}

/** A link to small files under names that no command of ours would give them. */
async function linkTo(user: Szafa, files: Given[], downloads?: number): Promise<string> {
  for (const [at, { mtime, text = `content ${at}` }] of files.entries()) {
    await user.upload(bytesSource(Buffer.from(text)), { path: `file ${at}`, mtime });
  }
  const entries = new Map((await user.list()).map((entry) => [entry.path, entry]));
  const items = files.map(({ name }, at) => ({ entry: entries.get(`file ${at}`)!, name }));
  return (await user.shareLink(items, { downloads })).link;
}

async function withVisitor(run: (visitor: Device) => Promise<void>): Promise<void> {
  const visitor = await Device.make('');
  try {
    await run(visitor);
  } finally {
    await visitor.remove();
  }
}

const files = async (folder: string) =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => `${parentPath}/${name}`.slice(folder.length + 1))
    .sort();

suite('a hostile link and the command', { concurrency: 2 }, () => {
  test('whatever its files are called: all is written below the folder that was named, and nothing through a link there', async () => {
    const names = [
      ...['../up.txt', '/abs.txt', 'C:\\drive.txt', '..\\back.txt', 'a/../../b.txt', '././c.txt', '~/d.txt'],
      ...['sub/through.txt', 'sub/deep/through.txt', 'both', 'both/inner.txt', '__proto__/e', 'constructor'],
      ...[
        '...',
        'CON',
        `${'x'.repeat(5000)}.txt`,
        `${'deep/'.repeat(1500)}f`,
        '\u001b[2J\u202efdp.exe',
        'same',
      ],
      ...['./same'],
    ];
    const late = { name: 'late', mtime: Number.MAX_SAFE_INTEGER };
    const link = await linkTo(await owner(), [...names.map((name) => ({ name })), late]);
    await withVisitor(async (visitor) => {
      await mkdir(visitor.path('elsewhere'));
      await mkdir(visitor.path('out'));
      await symlink('../elsewhere', visitor.path('out/sub'));
      const got = await visitor.run(['get', link, '--output', 'out/', '--json']);
      assert.equal(got.code, 3, got.stderr);
      assert.deepEqual(await files(visitor.path('elsewhere')), []);
      const known = [
        'CON',
        'C:_drive.txt',
        '.._back.txt',
        'abs.txt',
        'a/b.txt',
        'c.txt',
        'up.txt',
        '~/d.txt',
      ];
      const found = await files(visitor.path('out'));
      for (const path of [...known, '__proto__/e', 'constructor', 'unnamed', 'same'])
        assert.ok(found.includes(path), `${path} of ${found.join(', ')}`);
      assert.ok(found.includes(`${'x'.repeat(251)}.txt`));
      assert.ok(found.every((path) => !/[\p{Cc}\p{Cf}]/u.test(path)));
      assert.equal(found.filter((path) => /^both(\/|$)/.test(path)).length, 1);
      // Beside them the command's own folder and cache.
      const outside = (await files(visitor.home)).filter((path) => !/^(out|config|cache)\//.test(path));
      assert.deepEqual(outside, []);
      const refused = got.lines.filter(({ type }) => type === 'error').map(({ code }) => code);
      assert.ok(refused.includes('through-link'), JSON.stringify(refused));
      assert.ok(refused.includes('same-path'), JSON.stringify(refused));
      assert.doesNotMatch(got.stderr, /\u001b|at .*\.ts|TypeError|RangeError/);
    });
  });

  test('a name of thousands of slashes is refused, or has too many parts, and holds up nobody', async () => {
    const [alice, bob] = [await owner(), await loggedIn(service)];
    try {
      const deep = `${'a/'.repeat(4000)}x.txt`;
      const items: ShareItem[] = [];
      for (const [at, name] of [deep, 'b/y.txt', 'z.md'].entries()) {
        await alice.upload(bytesSource(Buffer.from(name.slice(-5))), { path: `${at}` });
        items.push({ entry: (await alice.list()).find(({ path }) => path === `${at}`)!, name });
      }
      await alice.shareWith(bob.env['SZ_USER']!, items);
      const got = await bob.run(['get', '--from', alice.username, '**/*.txt', '--output', 'in']);
      assertError(got, 3, /more than 128 parts/);
      assert.deepEqual(await readdir(bob.path('in/b')), ['y.txt']);
      const { link } = await alice.shareLink([{ ...items[0]!, name: `${'/'.repeat(400_000)}x/` }]);
      assertError(await bob.run(['get', link]), 1, /a name in the share is malformed/);
    } finally {
      await bob.remove();
    }
  });

  test('an empty folder, alone, is made below the one that was named', async () => {
    const user = await owner();
    await user.makeFolder('a/b');
    const entry = (await user.list()).find(({ path }) => path === 'a/b/')!;
    const { link } = await user.shareLink([{ entry, name: 'b/' }]);
    await withVisitor(async (visitor) => {
      const got = (await visitor.ok(['get', link, '--output', 'new', '--json'])).line('folder');
      assert.deepEqual([got['path'], await readdir(visitor.path('new'))], ['new/b', ['b']]);
    });
  });

  test('to look what it would write takes no download of it', async () => {
    const link = await linkTo(await owner(), [{ name: 'a/one' }, { name: 'two' }], 1);
    await withVisitor(async (visitor) => {
      const planned = await visitor.ok(['get', link, '--dry-run', '--json']);
      assert.equal(planned.lines.filter(({ type }) => type === 'planned').length, 2);
      assert.ok(!(await files(visitor.home)).some((path) => path.endsWith('one') || path.endsWith('two')));
    });
    await withVisitor(async (visitor) => {
      await visitor.ok(['get', link]);
      assert.equal(await readFile(visitor.path('a/one'), 'utf8'), 'content 0');
    });
  });

  test('the ticket of a download is shown to no other server, though its link has the same id', async () => {
    const link = await linkTo(await owner(), [{ name: 'one' }], 1);
    const seen: IncomingHttpHeaders[] = [];
    const hostile = createServer((request, response) => {
      seen.push(request.headers);
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"none"}');
    });
    await new Promise<void>((resolve) => hostile.listen(0, '127.0.0.1', resolve));
    try {
      await withVisitor(async (visitor) => {
        // Begun, and not ended: something is in the way.
        await mkdir(visitor.path('out/one/x'), { recursive: true });
        assertError(await visitor.run(['get', link, '--output', 'out/', '--yes']), 1, /./);
        const { port } = hostile.address() as AddressInfo;
        const lure = link.replace(service.url, `http://127.0.0.1:${port}`);
        assertError(await visitor.run(['get', lure, '--output', 'lured']), 1, /does not know this link/);
        assert.ok(seen.length > 0);
        for (const sent of seen) assert.equal(sent[headers.shareTicket.toLowerCase()], undefined);
        // It was taken: with it, the one download there is goes on.
        await visitor.ok(['get', link, '--output', 'again']);
      });
    } finally {
      hostile.close();
    }
  });
});
