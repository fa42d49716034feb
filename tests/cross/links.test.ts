import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { lstat, lutimes, mkdir, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { exits } from '../../cli/src/errors.ts';
import { assertBytes } from '../harness/bytes.ts';
import { useService } from '../harness/index.ts';
import { useDevice } from './account.ts';
import { Between } from './between.ts';
import { assertError, Device } from './device.ts';

const service = useService();

/** A machine of somebody without an account. */
async function withVisitor(run: (visitor: Device) => Promise<void>): Promise<void> {
  const visitor = await Device.make('');
  try {
    await run(visitor);
  } finally {
    await visitor.remove();
  }
}

suite('szafa: links', { concurrency: 2 }, () => {
  const shared = useDevice(service);

  test('a folder goes to somebody without an account, as often as its owner says', async () => {
    const { device } = shared;
    const [a, b] = [randomBytes(200_000), randomBytes(10)];
    await mkdir(device.path('given/in'), { recursive: true });
    await writeFile(device.path('given/a.bin'), a);
    await writeFile(device.path('given/in/b.bin'), b);
    await device.ok(['put', 'given', '--volume-size', '64K']);
    const made = await device.ok(['share', 'given', '--downloads', '1', '--note', 'for you', '--json']);
    const { link, id, files } = made.line('link');
    assert.match(String(link), /\/s\/[\w-]{22}#[\w-]{64}$/);
    assert.equal(files, 2);
    await withVisitor(async (visitor) => {
      // To look counts nothing, and writes nothing.
      const planned = await visitor.ok(['get', String(link), '--dry-run', '--json']);
      assert.equal(planned.lines.filter(({ type }) => type === 'planned').length, 2);
      assert.ok(!(await readdir(visitor.path('.'))).includes('given'));
      await mkdir(visitor.path('elsewhere'));
      await symlink('elsewhere', visitor.path('given'));
      assertError(await visitor.run(['get', String(link)]), 1, /is a symbolic link/);
      assert.deepEqual(await readdir(visitor.path('elsewhere')), []);
      await rm(visitor.path('given'));
      assertError(await visitor.run(['get', String(link), '--checksum']), exits.usage, /--checksum/);
      const got = await visitor.ok(['get', String(link), '--json']);
      assert.equal(got.line('summary')['files'], 2);
      assertBytes(await readFile(visitor.path('given/a.bin')), a);
      assertBytes(await readFile(visitor.path('given/in/b.bin')), b);
    });
    await withVisitor(async (late) => {
      assertError(await late.run(['get', String(link)]), 1, /maximum number of downloads/);
    });
    const [row] = (await device.ok(['shares', '--json'])).lines.filter((line) => line['id'] === id);
    assert.deepEqual(
      [row!['downloaded'], row!['ended'], row!['link'], row!['title']],
      [1, 'used up', link, 'given'],
    );
  });

  test('what was named is shown by its name alone, however it was named: the folders above it are not told', async () => {
    const { device } = shared;
    for (const folder of ['secret/one/set', 'secret/two/set']) {
      await mkdir(device.path(folder), { recursive: true });
      await writeFile(device.path(`${folder}/a.txt`), folder);
      await writeFile(device.path(`${folder}/../note.txt`), folder);
    }
    await device.ok(['put', 'secret']);
    await writeFile(device.path('secret/one/note.txt'), 'changed');
    await device.ok(['put', 'secret/one/note.txt', '--dir', 'secret/one']);
    const listed = await device.ok(['versions', 'secret/one/note.txt', '--json']);
    const ids = listed.lines.filter(({ type }) => type === 'version').map((line) => String(line['file_id']));
    assert.equal(ids.length, 2);
    const { file_id } = (await device.ok(['ls', 'secret/two/set', '--json'])).line('file');
    const namesOf = async (...args: string[]) => {
      const { link } = (await device.ok(['share', ...args, '--json'])).line('link');
      let names: unknown[] = [];
      await withVisitor(async (visitor) => {
        const planned = await visitor.ok(['get', String(link), '--dry-run', '--json', '--output', 'to/']);
        names = planned.lines.filter(({ type }) => type === 'planned').map((line) => line['path']);
      });
      return names.sort();
    };
    assert.deepEqual(await namesOf(...ids, String(file_id)), ['to/a.txt', 'to/note (2).txt', 'to/note.txt']);
    assert.deepEqual(await namesOf('secret/one/note.txt', 'secret/two/note.txt'), [
      'to/note (2).txt',
      'to/note.txt',
    ]);
    assert.deepEqual(await namesOf('secret/one/set', 'secret/two/set'), ['to/set (2)/a.txt', 'to/set/a.txt']);
  });

  test('symbolic links arrive as links; one that leads out is told, and its target is nobody’s business', async () => {
    const { device } = shared;
    await mkdir(device.path('linked/in'), { recursive: true });
    await writeFile(device.path('linked/in/file'), 'file');
    await symlink('in/file', device.path('linked/good'));
    await symlink('../good', device.path('linked/in/back'));
    await symlink('../../private', device.path('linked/in/out'));
    await symlink('/home/somebody/private', device.path('linked/absolute'));
    await symlink('in/../../private', device.path('linked/around'));
    await lutimes(device.path('linked/good'), 1e9, 1e9);
    await device.ok(['put', 'linked']);
    const { link } = (await device.ok(['share', 'linked', '--json'])).line('link');
    await withVisitor(async (visitor) => {
      const got = await visitor.run(['get', String(link)]);
      for (const name of ['in/out', 'absolute', 'around']) {
        assertError(
          got,
          exits.someFailed,
          new RegExp(`linked/${name}: is a link to something outside`),
          /ask its owner/,
        );
      }
      assert.doesNotMatch(got.stdout + got.stderr, /private/);
      const found = await readdir(visitor.path('linked'), { recursive: true });
      assert.deepEqual(found.sort(), ['good', 'in', 'in/back', 'in/file']);
      assert.equal(await readlink(visitor.path('linked/good')), 'in/file');
      assert.equal(await readlink(visitor.path('linked/in/back')), '../good');
      assert.equal((await lstat(visitor.path('linked/good'))).mtimeMs, 1e12);
      assert.equal(await readFile(visitor.path('linked/in/back'), 'utf8'), 'file');
      const again = await visitor.run(['get', String(link), '--json']);
      assert.deepEqual(
        again.lines.filter(({ type }) => type === 'downloaded'),
        [],
      );
      // Something else in its place stays, unless it may go.
      await rm(visitor.path('linked/good'));
      await writeFile(visitor.path('linked/good'), 'mine');
      assertError(
        await visitor.run(['get', String(link)]),
        exits.someFailed,
        /linked\/good is already there/,
      );
      assert.equal(await readFile(visitor.path('linked/good'), 'utf8'), 'mine');
      await visitor.run(['get', String(link), '--yes']);
      assert.equal(await readlink(visitor.path('linked/good')), 'in/file');
    });
    // Alone, it leads to what was not given.
    const one = (await device.ok(['share', 'linked/good', '--json'])).line('link');
    await withVisitor(async (visitor) => {
      const printed = await visitor.run(['get', String(one['link']), '--output', '-']);
      assertError(printed, 1, /is a symbolic link to something outside of the share/);
      assertError(await visitor.run(['get', String(one['link'])]), 1, /is a link to something outside/);
    });
    const two = (await device.ok(['share', 'linked/good', 'linked/in', '--json'])).line('link');
    await withVisitor(async (visitor) => {
      await visitor.run(['get', String(two['link'])]);
      assert.equal(await readlink(visitor.path('good')), 'in/file');
    });
  });

  test('empty folders are shared as well; one that nothing stands for is said, and nothing is shared', async () => {
    const { device } = shared;
    for (const folder of ['one/hollow/deep', 'two/hollow', 'bare'])
      await mkdir(device.path(folder), { recursive: true });
    await writeFile(device.path('one/file'), 'file');
    await device.ok(['put', 'one', 'two']);
    await device.ok(['mkdir', 'bare']);
    const made = (await device.ok(['share', 'one/file', 'one/hollow', 'two/hollow', '--json'])).line('link');
    await withVisitor(async (visitor) => {
      await visitor.ok(['get', String(made['link']), '--output', 'got/']);
      const found = await readdir(visitor.path('got'), { recursive: true });
      assert.deepEqual(found.sort(), ['file', 'hollow', 'hollow (2)', 'hollow/deep']);
    });
    assertError(await device.run(['share', 'one/file', 'bare']), 1, /bare.*the folder is empty/);
    // Other tests share at the same time.
    const titles = (await device.ok(['shares', '--json'])).lines.map(({ title }) => String(title));
    assert.deepEqual(
      titles.filter((title) => title.includes('bare')),
      [],
    );
  });

  test('a passphrase is asked for, and an end is an end', async () => {
    const { device } = shared;
    await writeFile(device.path('secret.txt'), 'hidden');
    await device.ok(['put', 'secret.txt']);
    const env = { SZ_LINK_PASSPHRASE: 'goose' };
    const made = await device.ok(['share', 'secret.txt', '--passphrase', '--expires', '1d', '--json'], {
      env,
    });
    const { link, id } = made.line('link');
    await withVisitor(async (visitor) => {
      const wrong = await visitor.run(['get', String(link)], { env: { SZ_LINK_PASSPHRASE: 'duck' } });
      assertError(wrong, exits.wrongPassword, /the passphrase is wrong/);
      const out = await visitor.ok(['get', String(link), '--output', '-'], { env });
      assert.equal(out.stdout, 'hidden');
      await visitor.ok(['get', String(link)], { env });
      assert.equal(await readFile(visitor.path('secret.txt'), 'utf8'), 'hidden');
      const cut = await visitor.run(['get', String(link).slice(0, -1)], { env });
      assertError(cut, 1, /incomplete/);
      await device.ok(['unshare', String(id).slice(0, 8)]);
      const ended = await visitor.run(['get', String(link), '--output', 'again'], { env });
      assertError(ended, 1, /has ended/);
    });
  });

  test('a server that changes what is behind a link is found out, and leaves no file', async () => {
    const { device } = shared;
    const bytes = randomBytes(100_000);
    for (const name of ['one.bin', 'two.bin']) await writeFile(device.path(name), bytes);
    await device.ok(['put', 'one.bin', 'two.bin', '--volume-size', '64K']);
    const linkTo = async (name: string) =>
      String((await device.ok(['share', name, '--downloads', '1', '--json'])).line('link')['link']);
    const [one, two] = [await linkTo('one.bin'), await linkTo('two.bin')];
    await using between = await Between.start(service.url);
    const through = one.replace(service.url, between.url);
    await withVisitor(async (visitor) => {
      const other = /\/s\/([\w-]+)#/.exec(two)![1]!;
      const isVolume = (path: string) => path.includes('/chunk/');
      between.inward = (path, body) => {
        if (isVolume(path)) body[body.length - 1]! ^= 1;
        return body;
      };
      assertError(await visitor.run(['get', through]), 1, /volume \d was changed/);
      between.inward = (path, body) =>
        isVolume(path)
          ? body
          : Buffer.from(
              body
                .toString()
                .replace(/"header":"(.)/, (_, first) => `"header":"${first === 'B' ? 'C' : 'B'}`),
            );
      assertError(await visitor.run(['get', through]), 1, /than this link was made for/);
      assert.deepEqual(
        (await readdir(visitor.home)).filter((name) => name.includes('.bin') || name.endsWith('.part')),
        [],
      );
      // The id of one link says nothing with the key of another.
      assertError(
        await visitor.run(['get', one.replace(/\/s\/[\w-]+#/, `/s/${other}#`)]),
        1,
        /does not know this link/,
      );
      // The one download that there is was begun above: its ticket was kept, and it goes on.
      between.inward = (_path, body) => body;
      await visitor.ok(['get', through]);
      assertBytes(await readFile(visitor.path('one.bin')), bytes);
    });
  });
});
