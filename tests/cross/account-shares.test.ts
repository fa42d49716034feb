import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { nodeEngine } from '@szafa/client/node';
import { ownIdentity, toBase64Url } from '@szafa/format';
import { assertBytes } from '../harness/bytes.ts';
import { useService } from '../harness/index.ts';
import { loggedIn, useDevice } from './account.ts';
import { Between } from './between.ts';
import { assertError, type Device } from './device.ts';

const service = useService();

const nameOf = (device: Device) => device.env['SZ_USER']!;
const fingerprintOf = async (device: Device) =>
  String((await device.ok(['contact', '--json'])).line('contact')['fingerprint']);

suite('szafa: shares with an account', { concurrency: 2 }, () => {
  const sender = useDevice(service);
  const receiver = useDevice(service);

  test('a folder goes from one account to another, by name, by path and by ID, and is ended', async () => {
    const [alice, bob] = [sender.device, receiver.device];
    const [a, b, c] = [randomBytes(200_000), randomBytes(10), randomBytes(20)];
    await mkdir(alice.path('given/in'), { recursive: true });
    await writeFile(alice.path('given/a.bin'), a);
    await writeFile(alice.path('given/in/b.txt'), b);
    await writeFile(alice.path('c.txt'), c);
    await alice.ok(['put', 'given', 'c.txt', '--volume-size', '64K']);
    const made = await alice.ok([
      'share',
      'given',
      '--with',
      nameOf(bob),
      '--note',
      'for you',
      '--expires',
      '1d',
      '--json',
    ]);
    const { id, to, files } = made.line('share');
    assert.deepEqual([to, files], [nameOf(bob), 2]);
    await alice.ok(['share', 'c.txt', '--with', nameOf(bob)]);
    // Where she keeps it is hers to know.
    const titleOf = async (...paths: string[]) => {
      const one = (await alice.ok(['share', ...paths, '--with', nameOf(bob), '--json'])).line('share');
      const seen = (await bob.ok(['shared', '--json'])).lines.find((line) => line['id'] === one['id'])!;
      await alice.ok(['unshare', String(one['id'])]);
      return seen['title'];
    };
    assert.equal(await titleOf('/given/in/b.txt'), 'b.txt');
    assert.equal(await titleOf('given/in/'), 'in');
    const { file_id } = (await alice.ok(['ls', 'given/in', '--json'])).line('file');
    assert.equal(await titleOf(String(file_id)), 'b.txt');
    assert.equal(await titleOf('given/in/*', 'c.txt'), 'b.txt, c.txt');
    const listed = (await bob.ok(['shared', '--json'])).lines.filter(({ type }) => type === 'shared');
    assert.deepEqual(
      listed.map((line) => [line['from'], line['title'], line['files'], line['problem'], line['verified']]),
      [
        [nameOf(alice), 'c.txt', 1, null, false],
        [nameOf(alice), 'given', 2, null, false],
      ],
    );
    assert.ok(Math.abs(Date.parse(String(listed[0]!['made_at'])) - Date.now()) < 600_000);
    const shown = await bob.ok(['shared', String(id).slice(0, 8)]);
    assert.match(shown.stdout, /given\/in\/b\.txt/);
    assert.match(shown.stderr, /for you/);
    const from = ['--from', nameOf(alice)];
    await bob.ok(['get', ...from, 'given']);
    assertBytes(await readFile(bob.path('given/a.bin')), a);
    assertBytes(await readFile(bob.path('given/in/b.txt')), b);
    await bob.ok(['get', ...from, 'given/in', '--output', 'part']);
    assertBytes(await readFile(bob.path('part/in/b.txt')), b);
    await bob.ok(['get', ...from, '**/*.txt', '--output', 'texts']);
    assert.deepEqual((await readdir(bob.path('texts'))).toSorted(), ['c.txt', 'given']);
    await bob.ok(['get', ...from, String(id).slice(0, 8), '--output', 'whole']);
    assertBytes(await readFile(bob.path('whole/given/a.bin')), a);
    const printed = await bob.ok(['cat', ...from, 'c.txt', 'given/in/b.txt']);
    assertBytes(printed.bytes, Buffer.concat([c, b]));
    assertBytes((await bob.ok(['get', ...from, 'c.txt', '--output', '-'])).bytes, c);
    assertError(await bob.run(['get', ...from, 'nothing']), 1, /"nothing" is not shared with you/);
    assertError(await alice.run(['get', '--from', nameOf(bob), 'given']), 1, /shares nothing with you/);
    const own = (await alice.ok(['shares', '--json'])).lines.find((line) => line['id'] === id)!;
    assert.deepEqual([own['to'], own['link'], own['title']], [nameOf(bob), null, 'given']);
    await alice.ok(['unshare', String(id)]);
    assertError(await bob.run(['get', ...from, 'given/a.bin', '--output', 'late']), 1, /not shared with you/);
    // What is left, its receiver puts away.
    const [left] = (await bob.ok(['shared', '--json'])).lines;
    assert.match((await bob.ok(['unshare', String(left!['id'])])).stdout, /is removed from your list/);
    assert.equal((await bob.ok(['shared'])).stdout, '');
  });

  test('bad usage is told', async () => {
    const [alice, bob] = [sender.device, receiver.device];
    await writeFile(alice.path('usage.txt'), 'x');
    await alice.ok(['put', 'usage.txt']);
    const share = (...more: string[]) => alice.run(['share', 'usage.txt', ...more]);
    assertError(await share('--with', 'nobody_is_this'), 1, /no account nobody_is_this/);
    assertError(await share('--with', nameOf(alice)), 1, /your own files/);
    assertError(
      await share('--with', nameOf(bob), '--passphrase'),
      2,
      /--with and --passphrase cannot be combined/,
    );
    assertError(await alice.run(['contact', '--verify']), 2, /no account given/);
    assertError(
      await alice.run(['get', 'x', '--from', nameOf(bob), '--checksum']),
      2,
      /--checksum and --from cannot be combined/,
    );
  });

  test('fingerprints are compared; keys that change stop the command and say what to do', async () => {
    await using between = await Between.start(service.url);
    const [alice, bob] = [await loggedIn({ url: between.url }), await loggedIn(service)];
    try {
      await writeFile(alice.path('secret.txt'), 'hidden');
      await alice.ok(['put', 'secret.txt']);
      assertError(await alice.run(['contact', nameOf(bob), '--verify']), 1, /never been seen on this device/);
      const first = await alice.ok(['share', 'secret.txt', '--with', nameOf(bob)]);
      assert.match(first.stderr, /not verified; to compare them: szafa contact/);
      const [own, his] = (await alice.ok(['contact', nameOf(bob), '--json'])).lines.filter(
        ({ type }) => type === 'contact',
      );
      assert.equal(own!['fingerprint'], await fingerprintOf(alice));
      assert.deepEqual([his!['fingerprint'], his!['state']], [await fingerprintOf(bob), 'known']);
      await alice.ok(['contact', nameOf(bob), '--verify']);
      assert.match((await alice.ok(['contact', nameOf(bob)])).stdout, /\(verified\)/);
      assert.doesNotMatch(
        (await alice.ok(['share', 'secret.txt', '--with', nameOf(bob)])).stderr,
        /not verified/,
      );
      const serviceId = ((await (await fetch(`${service.url}/api/service`)).json()) as { service_id: string })
        .service_id;
      const engine = nodeEngine({ threads: 1 });
      const secrets = { x25519: engine.random(32), ed25519: engine.random(32) };
      const evil = await ownIdentity(engine, { serviceId, username: nameOf(bob) }, secrets);
      await engine.close();
      between.inward = (path, body) =>
        path.endsWith('/identity')
          ? Buffer.from(JSON.stringify({ username: nameOf(bob), identity: toBase64Url(evil.document) }))
          : body;
      between.requests.length = 0;
      const stopped = await alice.run(['share', 'secret.txt', '--with', nameOf(bob)]);
      assertError(stopped, 1, /different keys than before/);
      assert.match(stopped.stderr, /szafa contact \S+ --accept FINGERPRINT/);
      assert.doesNotMatch(stopped.stderr, /\d{5} \d{5}/);
      assert.ok(between.requests.every(({ method }) => method === 'GET' || method === 'HEAD'));
      assert.match((await alice.ok(['contact', nameOf(bob)])).stdout, /NOT the same keys as before/);
      const right = await fingerprintOf(bob);
      assertError(await alice.run(['contact', nameOf(bob), '--accept', right]), 1, /another fingerprint/);
      between.inward = (_path, body) => body;
      await alice.ok(['contact', nameOf(bob), '--accept', right.replaceAll(' ', '')]);
      await alice.ok(['share', 'secret.txt', '--with', nameOf(bob)]);
    } finally {
      await alice.remove();
      await bob.remove();
    }
  });
});
