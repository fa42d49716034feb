import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
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

suite('szafa: requests', () => {
  const shared = useDevice(service);

  test('files come from somebody without an account, within limits, and are taken over', async () => {
    const { device } = shared;
    const asked = ['request', 'inbox/in', '--files', '2', '--size', '1M', '--note', 'send them', '--json'];
    const { link, id } = (await device.ok(asked)).line('request');
    assert.match(String(link), /\/r\/[\w-]{22}#[\w-]{86}$/);
    const [a, b] = [randomBytes(200_000), randomBytes(10)];
    await withVisitor(async (visitor) => {
      await mkdir(visitor.path('given'));
      await writeFile(visitor.path('given/a.bin'), a);
      await writeFile(visitor.path('b.bin'), b);
      await writeFile(visitor.path('large.bin'), randomBytes(1_200_000));
      const put = (...args: string[]) => visitor.run(['put', ...args, '--to', String(link), '--json']);
      assert.equal((await put('large.bin', '--dry-run')).line('error')['code'], 'link-over');
      assert.equal((await put('large.bin')).line('error')['code'], 'link-over');
      const sent = await visitor.ok(['put', 'given', '--to', String(link), '--json', '--volume-size', '64K']);
      assert.deepEqual([sent.line('summary')['files'], sent.line('uploaded')['name']], [1, 'a.bin']);
      await visitor.ok(['put', 'b.bin', '--name', 'a.bin', '--to', String(link)]);
      assertError(await visitor.run(['put', 'b.bin', '--to', String(link)]), 1, /takes no more/);
      assertError(
        await visitor.run(['put', 'b.bin', '--to', String(link), '--dir', 'x']),
        exits.usage,
        /--dir/,
      );
      assertError(await visitor.run(['put', 'b.bin', '--to', String(link).slice(0, -1)]), 1, /incomplete/);
    });
    assert.doesNotMatch((await device.ok(['ls', '-R'])).stdout, /a\.bin|delivery-/);
    const came = (await device.ok(['deliveries', '--json'])).lines.filter(({ type }) => type === 'delivery');
    assert.deepEqual(
      came.map(({ name, folder, request }) => [name, folder, request]),
      [
        ['a.bin', 'inbox/in', id],
        ['a.bin', 'inbox/in', id],
      ],
    );
    await device.ok(['deliveries', '--take']);
    const names = ['inbox/in/a.bin', 'inbox/in/a (2).bin'];
    const sizes = new Map<number, Buffer>();
    for (const name of names) {
      const { bytes } = await device.ok(['get', name, '--output', '-']);
      sizes.set(bytes.length, bytes);
    }
    assert.deepEqual(sizes.get(a.length), a);
    assert.deepEqual(sizes.get(b.length), b);
    assert.match((await device.ok(['deliveries'])).stderr, /there are no new deliveries/);
    const listed = (await device.ok(['requests', '--json'])).lines.find((line) => line['id'] === id)!;
    assert.deepEqual([listed['delivered'], listed['ended'], listed['link']], [2, 'used up', link]);
    await device.ok(['unrequest', String(id).slice(0, 8)]);
    await withVisitor(async (late) => {
      await writeFile(late.path('b.bin'), b);
      assertError(await late.run(['put', 'b.bin', '--to', String(link)]), 1, /has ended/);
    });
    assertError(await device.run(['unrequest', String(id)]), 1, /you have no request/);
  });

  test('what is not wanted is deleted by its ID, once somebody says so', async () => {
    const { device } = shared;
    const { link } = (await device.ok(['request', 'junk', '--json'])).line('request');
    await withVisitor(async (visitor) => {
      for (const name of ['one', 'two', 'three']) await writeFile(visitor.path(name), name);
      await visitor.ok(['put', 'one', 'two', 'three', '--to', String(link)]);
    });
    const there = async () =>
      (await device.ok(['deliveries', '--json'])).lines.filter(({ type }) => type === 'delivery');
    const ids = new Map((await there()).map((line) => [line['name'], String(line['file_id'])]));
    assert.equal(ids.size, 3);
    const id = ids.get('one')!;
    assert.match((await device.ok(['deliveries', id.slice(0, 8)])).stdout, /^[0-9a-f]{8} .* one /);
    assertError(await device.run(['deliveries', '--drop']), exits.usage, /--drop needs IDs, or --all/);
    assertError(
      await device.run(['deliveries', '--drop', id, '--all']),
      exits.usage,
      /--drop needs IDs, or --all/,
    );
    assertError(
      await device.run(['deliveries', '--drop', '--take', id]),
      exits.usage,
      /--take and --drop cannot be combined/,
    );
    assertError(await device.run(['deliveries', '--drop', id]), 1, /nothing was deleted/);
    assertError(await device.run(['deliveries', '--drop', 'zzz', '--yes']), 1, /there is no delivery/);
    assert.equal((await there()).length, 3);
    const dropped = await device.ok(['deliveries', '--drop', id.slice(0, 8), '--yes', '--json']);
    assert.equal(dropped.line('dropped')['file_id'], id);
    await device.ok(['deliveries', '--take', ids.get('two')!.slice(0, 8)]);
    assert.equal((await device.ok(['cat', 'junk/two'])).stdout, 'two');
    assert.deepEqual(
      (await there()).map(({ name }) => name),
      ['three'],
    );
    await device.ok(['deliveries', '--drop', '--all', '--yes']);
    assert.deepEqual(await there(), []);
  });

  test('an upload that was killed goes on with the volumes that are missing; a server with a key of its own gets nothing', async () => {
    const { device } = shared;
    const { link } = (await device.ok(['request', 'big', '--files', '1', '--json'])).line('request');
    const bytes = randomBytes(6 * 1024 * 1024);
    await using between = await Between.start(service.url);
    const through = String(link).replace(service.url, between.url);
    await withVisitor(async (visitor) => {
      await writeFile(visitor.path('film'), bytes);
      const put = ['put', 'film', '--to', through, '--volume-size', '1M', '--json'];
      between.inward = (path, body) =>
        path.startsWith('/api/requests/')
          ? Buffer.from(
              body
                .toString()
                .replace(
                  /"header":"(.{9})./,
                  (all, head) => `"header":"${head}${all.endsWith('A') ? 'B' : 'A'}`,
                ),
            )
          : body;
      assertError(await visitor.run(put.slice(0, -1)), 1, /than this link was made for/);
      assert.equal(between.requests.filter(({ method }) => method !== 'GET').length, 0);
      between.inward = (_path, body) => body;
      const running = visitor.start([...put, '--bwlimit', '2M']);
      await running.until('two volumes', () => between.stored >= 2);
      running.child.kill('SIGKILL');
      await running.ended;
      const { resumed } = (await visitor.ok(put)).line('uploaded');
      assert.ok(Number(resumed) >= 2 && Number(resumed) < 6, `${resumed}`);
    });
    await device.ok(['deliveries', '--take']);
    await device.ok(['get', 'big/film', '--output', 'film']);
    assertBytes(await readFile(device.path('film')), bytes);
  });
});
