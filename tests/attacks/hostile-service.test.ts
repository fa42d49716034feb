/** The command against a service that lies in its answers: about names, about order, and about what it wants to be sent. One file: its tests share a server. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { access, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { bytesSource, LinkVisit } from '@szafa/client';
import { extentOf, sealVolume } from '@szafa/format';
import { pathOf } from '@szafa/protocol';
import { loggedIn, PASSWORD, registered } from '../cross/account.ts';
import { Between } from '../cross/between.ts';
import { assertError, Device } from '../cross/device.ts';
import { freshName, register, useService } from '../harness/index.ts';

const service = useService();

interface Listed {
  file_id: string;
  file_name: string;
  created_at: string;
  dir_id: number | null;
  dir_name: string;
}

/** Answers to GET /api/files, changed. */
function onList(between: Between, change: (files: Listed[]) => Listed[]): void {
  between.inward = (path, body) => {
    if (!path.startsWith('/api/files?')) return body;
    const list = JSON.parse(body.toString()) as { files: Listed[] };
    return Buffer.from(JSON.stringify({ ...list, files: change(list.files) }));
  };
}

/** A device whose service is honest until told otherwise, with files put one after another. */
async function setUp(stack: AsyncDisposableStack, files: [name: string, content: string][], make = loggedIn) {
  const between = stack.use(await Between.start(service.url));
  const device = await make(between);
  stack.defer(() => device.remove());
  const ids: string[] = [];
  for (const [name, content] of files) {
    const put = await device.ok(['put', '-', '--name', name, '--json'], { input: content });
    ids.push(String(put.line('uploaded')['file_id']));
  }
  return { between, device, ids };
}

/** The key bag of the account that a device is logged in to. */
async function keysOf(device: Device): Promise<string> {
  const { token } = JSON.parse(await readFile(device.path('config/session.json'), 'utf8')) as {
    token: string;
  };
  const answer = await service.call({ path: pathOf('readKeys'), token });
  return String(answer.json['keys']);
}

const there = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

suite('a hostile service and the command', { concurrency: 3 }, () => {
  test('a plain name does not make one file pass for another', async () => {
    await using stack = new AsyncDisposableStack();
    const { between, device, ids } = await setUp(stack, [['draft.txt', 'the draft']]);
    onList(between, (files) => files.map((file) => ({ ...file, file_name: 'invoice.txt' })));
    for (const args of [
      ['get', 'invoice.txt', '-o', 'out'],
      ['check', 'invoice.txt'],
      ['get', ids[0]!, '-o', 'out'],
    ]) {
      assertError(await device.run(args), 1, /not the name of this file/, /do not use/);
    }
    assertError(await device.run(['rm', 'invoice.txt', '--yes']), 1, /not the name of this file/);
    assertError(await device.run(['mv', 'invoice.txt', 'other.txt']), 1, /not the name of this file/);
    assertError(await device.run(['cp', 'invoice.txt', 'other.txt']), 1, /not the name of this file/);
    const poured = await device.run(['get', 'invoice.txt', '-o', '-']);
    assert.deepEqual([poured.code, poured.stdout], [1, '']);
    assert.ok(!(await there(device.path('out'))));
    onList(between, (files) => files.map((file) => ({ ...file, file_name: 'Tax/invoice.txt' })));
    assertError(await device.run(['get', 'Tax/invoice.txt', '-o', 'out']), 1, /not the name of this file/);
    onList(between, (files) => files);
    assert.equal((await device.ok(['get', 'draft.txt', '-o', '-'])).stdout, 'the draft');
  });

  test('plain names of two folders that are exchanged: no file passes for the other', async () => {
    await using stack = new AsyncDisposableStack();
    const { between, device } = await setUp(stack, []);
    for (const folder of ['prod', ' test ']) {
      await mkdir(device.path(folder));
      await writeFile(join(device.path(folder), 'config'), folder);
    }
    await device.ok(['put', 'prod', ' test ', '--plain-names']);
    // A folder whose name the server cleans is no other one.
    assert.equal((await device.ok(['cat', 'prod/config', 'test/config'])).stdout, 'prod test ');
    // Of the two files, whose names are shown; what is kept of their folders is sealed.
    onList(between, (files) => {
      const shown = files.filter(({ file_name }) => file_name === 'config');
      return files.map((file) => {
        const at = shown.indexOf(file);
        if (at < 0) return file;
        const { dir_id, dir_name } = shown[1 - at]!;
        return { ...file, dir_id, dir_name };
      });
    });
    const id = String((await device.ok(['ls', 'prod', '--json'])).line('file')['file_id']);
    for (const args of [
      ...[
        ['cat', 'prod/config'],
        ['get', 'prod', '--output', 'got'],
        ['check', 'prod'],
        ['share', 'prod/config'],
      ],
      ...[
        ['mv', 'prod/config', 'moved'],
        ['cp', 'prod/config', 'copy'],
        ['rm', 'prod/config'],
      ],
    ]) {
      const tried = await device.run(args);
      assertError(tried, 1, /shows "prod\/config", but the file is sealed as " test \/config"/);
    }
    assert.ok(!(await there(device.path('got'))));
    // By its ID it is wanted whatever it is called, and all of them are written where they say.
    const one = await device.ok(['get', id, '--output', 'one', '--json']);
    assert.deepEqual(
      [one.line('note')['code'], await readFile(device.path('one'), 'utf8')],
      ['misplaced', ' test '],
    );
    await device.ok(['get', '/', '--output', 'all']);
    assert.equal(await readFile(device.path('all/prod/config'), 'utf8'), 'prod');
  });

  test('beside the genuine file the plain name is left out, also when it is listed as newer', async () => {
    await using stack = new AsyncDisposableStack();
    const files: [string, string][] = [
      ['invoice.txt', 'the invoice'],
      ['draft.txt', 'the draft'],
    ];
    const { between, device, ids } = await setUp(stack, files);
    onList(between, (list) =>
      list.map((file) => (file.file_id === ids[1] ? { ...file, file_name: 'invoice.txt' } : file)),
    );
    const got = await device.ok(['get', 'invoice.txt', '-o', '-']);
    assert.equal(got.stdout, 'the invoice');
    assert.match(got.stderr, /ignoring .* without proof/);
    assert.match((await device.ok(['check', 'invoice.txt'])).stdout, /good invoice\.txt/);
    await device.ok(['get', '/', '--output', 'all']);
    assert.deepEqual(await readdir(device.path('all')), ['invoice.txt']);
    assert.equal(await readFile(device.path('all/invoice.txt'), 'utf8'), 'the invoice');
    await device.ok(['rm', 'invoice.txt', '--yes']);
    onList(between, (list) => list);
    const left = (await device.ok(['ls', '--json'])).lines.map(({ name }) => name);
    assert.deepEqual(left, ['draft.txt']);
  });

  test('an id that reads like a name is not taken for that name', async () => {
    await using stack = new AsyncDisposableStack();
    const { between, device } = await setUp(stack, [['draft.txt', 'the draft']]);
    onList(between, (list) => list.map((file) => ({ ...file, file_id: 'invoice.txt' })));
    assertError(await device.run(['get', 'invoice.txt', '-o', 'out']), 1, /no file or folder "invoice\.txt"/);
    assert.ok(!(await there(device.path('out'))));
  });

  test('no answer speaks to the terminal: ids, tokens, numbers that are none', async () => {
    await using stack = new AsyncDisposableStack();
    const { between, device } = await setUp(stack, [['draft.txt', 'the draft']], registered);
    const speech = '\u001b]0;hello\u0007';
    const fields = /"(file_id|token|username|used_bytes|percent)":("[^"]*"|[0-9.]+)/g;
    between.inward = (path, body) =>
      /^\/api\/(auth|quota|transfer)/.test(path)
        ? Buffer.from(body.toString().replace(fields, (_, name) => `"${name}":${JSON.stringify(speech)}`))
        : body;
    await writeFile(device.path('two.txt'), 'another');
    await writeFile(device.path('three.txt'), Buffer.alloc(2_000_000));
    const commands = [['put', 'two.txt'], ['put', 'three.txt'], ['quota'], ['whoami'], ['login'], ['token']];
    for (const args of commands) {
      const { stdout, stderr } = await device.run(args, { env: { SZ_PASSWORD: PASSWORD } });
      assert.doesNotMatch(stdout + stderr, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/, args.join(' '));
    }
  });

  test('the order of the list does not make an older version the newest', async () => {
    await using stack = new AsyncDisposableStack();
    const { between, device } = await setUp(stack, [
      ['v', 'first'],
      ['v', 'second'],
      ['v', 'third'],
    ]);
    for (const content of ['first', 'second']) {
      await writeFile(device.path('plain'), content);
      await device.ok(['put', 'plain', '--plain-names']);
    }
    onList(between, (list) =>
      list
        .toReversed()
        .map((file, at) => ({ ...file, created_at: new Date(Date.now() - at * 1e6).toISOString() })),
    );
    assert.equal((await device.ok(['get', 'v', '-o', '-'])).stdout, 'third');
    await device.ok(['get', '/', '--output', 'all']);
    assert.equal(await readFile(device.path('all/v'), 'utf8'), 'third');
    // Of a plain name the list tells no age at all.
    assert.equal(await readFile(device.path('all/plain'), 'utf8'), 'second');
    const sizes = (await device.ok(['versions', 'plain', '--json'])).lines.map(({ size }) => Number(size));
    assert.ok(sizes[0]! > sizes[1]!, 'the newest first');
    await device.ok(['cp', 'plain', 'copy']);
    const { link } = (await device.ok(['share', 'plain', '--json'])).line('link');
    for (const what of ['plain', 'copy', String(link)])
      assert.equal((await device.ok(['get', what, '-o', '-'])).stdout, 'second', what);
  });

  test('a name that was taken back, and a folder that was swapped, lead no command to another place', async () => {
    await using stack = new AsyncDisposableStack();
    const files: [string, string][] = [
      ['Tax/2025.txt', 'to be kept'],
      ['Old/rest.txt', 'the rest'],
    ];
    const { between, device, ids } = await setUp(stack, files);
    const records = new Map<string, Listed>();
    onList(between, (list) => {
      for (const record of list) records.set(record.file_id, record);
      return list;
    });
    await device.ok(['ls']);
    // Both in the other's folder: their paths are what was sealed, and nothing of Tax is taken for a part of Old.
    const [first, second] = ids.map((id) => records.get(id)!);
    onList(between, (list) =>
      list.map((file) => {
        const { dir_id, dir_name } = file.file_id === ids[0] ? second! : first!;
        return { ...file, dir_id, dir_name };
      }),
    );
    const swapped = await device.ok(['find', '*.txt', '--json']);
    assert.deepEqual(swapped.lines.map(({ path }) => path).sort(), files.map(([path]) => path).sort());
    assert.equal((await device.ok(['get', 'Tax/2025.txt', '-o', '-'])).stdout, 'to be kept');
    onList(between, (list) => list);
    await device.ok(['mv', 'Tax/2025.txt', 'Kept/2025.txt']);
    // The same file under the name that it had before.
    onList(between, (list) =>
      list.map((file) => (file.file_id === ids[0] ? { ...file, file_name: first!.file_name } : file)),
    );
    for (const args of [
      ['get', 'Tax/2025.txt', '-o', 'out'],
      ['get', 'Tax/2025.txt', '-o', '-'],
      ['rm', 'Tax/2025.txt', '--yes'],
      ['mv', 'Tax/2025.txt', 'x'],
      ['cp', 'Tax/2025.txt', 'x'],
      ['share', 'Tax/2025.txt'],
      ['check', 'Tax/2025.txt'],
    ]) {
      assertError(await device.run(args), 1, /an older one/, /do not use/);
    }
    assert.ok(!(await there(device.path('out'))));
    onList(between, (list) => list);
    assert.equal((await device.ok(['get', 'Kept/2025.txt', '-o', '-'])).stdout, 'to be kept');
  });

  test('a refused login does not lead to the raw password, and what was derived once stays derived', async () => {
    await using stack = new AsyncDisposableStack();
    const { between, device } = await setUp(stack, [], registered);
    const bodies: string[] = [];
    between.outward = (_path, body) => {
      bodies.push(body.toString());
      return body;
    };
    const refuse = (path: string, body: Buffer) =>
      path === '/api/auth/login' ? Buffer.from('{"error":"use --raw-password"}') : body;
    between.inward = refuse;
    between.status = (path, status) => (path === '/api/auth/login' ? 401 : status);
    const env = { SZ_PASSWORD: PASSWORD };
    const refused = await device.run(['login'], { env });
    assertError(refused, 12, /login was refused/, /check username and password$/m);
    assert.doesNotMatch(refused.stderr, /raw/);
    for (const args of [
      ['login', '--raw-password'],
      ['register', '--raw-password'],
    ]) {
      assertError(await device.run(args, { env }), 2, /never left this machine/, /omit --raw-password/);
    }
    await device.ok(['logout']);
    assertError(await device.run(['login', '--raw-password'], { env }), 2, /never left this machine/);
    // A login for one command only is remembered as well.
    between.inward = (_path, body) => body;
    between.status = (_path, status) => status;
    const once = { ...env, SZ_CONFIG: device.path('once') };
    await device.ok(['ls'], { env: once });
    assertError(await device.run(['login', '--raw-password'], { env: once }), 2, /never left this machine/);
    assert.ok(bodies.length > 2 && bodies.every((body) => !body.includes(PASSWORD)));
  });

  test('a raw password must not be the passphrase, too', async () => {
    await using stack = new AsyncDisposableStack();
    const other = await register(service);
    const device = await Device.make(service.url, { SZ_USER: other.username });
    stack.defer(() => device.remove());
    const env = { SZ_PASSWORD: other.password, SZ_PASSPHRASE: other.password };
    const same = await device.run(['login', '--raw-password', '--passphrase'], { env });
    assertError(same, 1, /passphrase is the same as the password/, /another passphrase/);
    const left = (await readdir(device.path('config'))).filter((name) => name !== 'journal');
    assert.deepEqual(left, []);
  });

  test('a wrong passphrase is noticed at the login, before anything is made under it', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await Device.make(service.url, { SZ_USER: freshName() });
    stack.defer(() => device.remove());
    const phrase = 'rower chmura zamek lampa';
    const right = { SZ_PASSWORD: PASSWORD, SZ_PASSPHRASE: phrase };
    const wrong = { SZ_PASSWORD: PASSWORD, SZ_PASSPHRASE: 'rower chmura zamek lampy' };
    const weak = { SZ_PASSWORD: PASSWORD, SZ_PASSPHRASE: 'password1' };
    const raw = ['login', '--raw-password', '--passphrase'];
    await device.ok(['register', '--raw-password'], { env: { SZ_PASSWORD: PASSWORD } });
    // There are no keys yet, so the first passphrase is a new one, and has to be a strong one.
    assertError(await device.run(raw, { env: weak }), 2, /too easy to guess/);
    await device.ok(raw, { env: right });
    await device.ok(['mkdir', 'Zdjęcia z wakacji']);
    await device.ok(['put', '-', '--name', 'x'], { input: 'x' });
    const fresh = { SZ_CONFIG: device.path('fresh') };
    for (const secrets of [wrong, weak]) {
      assertError(
        await device.run(raw, { env: { ...secrets, ...fresh } }),
        12,
        /does not open the keys of this account/,
      );
    }
    assert.ok(!(await there(join(device.path('fresh'), 'session.json'))));
    const names = (await device.ok(['ls', '--json'])).lines.map(({ name }) => name);
    assert.deepEqual(names, ['Zdjęcia z wakacji', 'x']);
    await device.ok(raw, { env: { ...right, ...fresh } });

    // The same where the service does not know the password either.
    const other = await Device.make(service.url, { SZ_USER: freshName() });
    stack.defer(() => other.remove());
    await other.ok(['register', '--passphrase'], { env: right });
    const tries: [string[], Record<string, string>][] = [
      [['login', '--passphrase'], wrong],
      [['login'], { SZ_PASSWORD: PASSWORD }],
      [['mkdir', 'Inne'], wrong],
    ];
    for (const [args, secrets] of tries) {
      const env = { ...secrets, SZ_CONFIG: other.path('fresh') };
      assertError(await other.run(args, { env }), 12, /does not open the keys of this account/);
    }
    assert.deepEqual((await other.ok(['ls', '--json'])).lines, []);
  });

  test('other keys than before, or none, stop every command; so does another server at the same address', async () => {
    await using stack = new AsyncDisposableStack();
    const { between, device } = await setUp(stack, [['kept.txt', 'kept']], registered);
    const stranger = await loggedIn(service);
    stack.defer(() => stranger.remove());
    const env = { SZ_PASSWORD: PASSWORD };
    const answers = (at: string, json: object) => {
      between.inward = (path, body) => (path === at ? Buffer.from(JSON.stringify(json)) : body);
    };
    const acts = [
      ['put', '-', '--name', 'x'],
      ['mkdir', 'x'],
      ['get', 'kept.txt', '-o', 'out'],
    ];
    const refused = async (why: RegExp, some = acts.slice(0, 1)) => {
      between.requests.length = 0;
      for (const args of [...some, ['login']]) {
        assertError(await device.run(args, { env, input: 'x' }), 1, why, /do not use this server/);
      }
      const changing = between.requests.filter(({ method, path }) => method !== 'GET' && !/auth/.test(path));
      assert.deepEqual(changing, []);
      assert.ok(!(await there(device.path('out'))));
      between.inward = (_path, body) => body;
      between.status = (_path, status) => status;
    };
    const own = await keysOf(device);
    answers('/api/account/keys', { keys: await keysOf(stranger) });
    await refused(/belongs to another account/, acts);
    const [pin] = (await readdir(device.path('config'))).filter((name) => name.startsWith('keys-'));
    const path = join(device.path('config'), pin!);
    const seen = await readFile(path, 'utf8');
    await writeFile(path, seen.replace('"rev":1', '"rev":2'));
    await refused(/an older key bag \(1\) than before \(2\)/);
    await writeFile(path, seen);
    between.status = (at, status) => (at === '/api/account/keys' ? 404 : status);
    await refused(/has no keys, but it had them before/);
    // A device that has seen nothing makes no other keys beside the files.
    between.status = (at, status) => (at === '/api/account/keys' ? 404 : status);
    const fresh = { ...env, SZ_CONFIG: device.path('fresh') };
    assertError(await device.run(['login'], { env: fresh }), 1, /but there are encrypted files/);
    between.status = (_path, status) => status;
    assert.equal(await keysOf(device), own);

    answers('/api/service', {
      service_id: 'ab'.repeat(16),
      version: '1',
      features: [],
      registration: 'open',
    });
    between.requests.length = 0;
    assertError(
      await device.run(['login'], { env }),
      1,
      /a different server now answers/,
      /do not use this server/,
    );
    assert.deepEqual([...new Set(between.requests.map((one) => one.path))], ['/api/service']);
    between.inward = (_path, body) => body;
    // It has moved, or another one says that it is this one: told before anything is sent.
    const here = { ...env, SZ_SERVER: service.url };
    const moved = await device.ok(['login'], { env: here });
    assert.match(moved.stderr, /claims to be the one at http:.*change your password there/);
    const again = await device.ok(['login'], { env: here });
    assert.doesNotMatch(again.stderr, /claims to be the one/);
    assert.equal((await device.ok(['get', 'kept.txt', '-o', '-'], { env: here })).stdout, 'kept');
  });

  test('weak passwords do not register, with or without a terminal', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await Device.make(service.url, { SZ_USER: freshName() });
    stack.defer(() => device.remove());
    await writeFile(device.path('pw'), '1234567\n');
    assertError(await device.run(['register', '--password-file', 'pw']), 2, /8 to 1024 characters/);
    const username = device.env['SZ_USER']!;
    for (const weak of ['12345678', 'password1', 'qwertyuiop', `${username}1`, 'aaaaaaaaaaaaaaaa']) {
      const tried = await device.run(['register'], { env: { SZ_PASSWORD: weak } });
      assertError(tried, 2, /too easy to guess/, /unrelated words/);
    }
    const strong = { SZ_PASSWORD: PASSWORD };
    const phrase = await device.run(['register', '--passphrase'], { env: { ...strong, SZ_PASSPHRASE: 'a' } });
    assertError(phrase, 2, /passphrase must have 8/);
    await device.ok(['register'], { env: strong });
  });

  test('somebody who has a link forges volumes for its owner: cat, get and check give out no byte of them', async () => {
    await using stack = new AsyncDisposableStack();
    const { between, device } = await setUp(stack, []);
    const bytes = randomBytes(5 * 65_536);
    await writeFile(device.path('film'), bytes);
    await device.ok(['put', 'film', '--volume-size', '64K']);
    const link = String((await device.ok(['share', 'film', '--json'])).line('link')['link']);
    const visited = await (await LinkVisit.begin(link.replace(between.url, service.url))).open();
    const { header } = visited.file(1, '');
    const { fileId, fileKey, layout } = header;
    const forged = bytesSource(new Uint8Array(bytes.length).fill(0x66));
    const place = { fileId, fileKey, idx: 2, isLast: false };
    const volume = await sealVolume(visited.engine, place, forged, extentOf(layout, 2));
    between.inward = (path, body) =>
      path.endsWith('/chunk/2') && body.length > 0 ? Buffer.from(volume.bytes) : body;
    for (const args of [
      ['cat', 'film'],
      ['get', 'film', '--output', '-'],
    ]) {
      const poured = await device.run(args);
      assert.equal(poured.code, 1);
      assert.match(poured.stderr, /volume 2 is not the one that was uploaded/);
      const printed = Buffer.from(poured.stdout, 'latin1');
      assert.ok(!printed.includes(Buffer.alloc(64, 0x66)), `${args[0]} printed what was forged`);
    }
    assertError(await device.run(['check', 'film']), 1, /volume 2 is not the one that was uploaded/);
    assertError(await device.run(['get', 'film', '--output', 'out']), 1, /volume 2 is not/);
    assert.ok(!(await there(device.path('out'))));
    const visitor = await Device.make('');
    stack.defer(() => visitor.remove());
    const got = await visitor.run(['get', link, '--output', '-']);
    assert.equal(got.code, 1);
    assert.ok(!got.stdout.includes('f'.repeat(64)));
  });
});
