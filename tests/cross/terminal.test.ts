import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { freshName, useService } from '../harness/index.ts';
import { loggedIn, useDevice } from './account.ts';
import { Device } from './device.ts';
import { confirmKey, Terminal } from './terminal.ts';

const service = useService();

suite('szafa: on a terminal', { concurrency: 3 }, () => {
  const shared = useDevice(service);

  test('register asks twice, login once, and no password is on the screen', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await Device.make(service.url);
    stack.defer(() => device.remove());
    const name = freshName();
    const differs = new Terminal(device, ['register', name]);
    await differs.answer(/password: /, 'first secret');
    await differs.answer(/password again: /, 'other secret');
    assert.equal(await differs.ended, 2);
    assert.match(differs.screen, /the two passwords differ/);

    const register = new Terminal(device, ['register']);
    await register.answer(/username: /, name);
    await register.answer(/password: /, 'żółta łódź');
    await register.answer(/password again: /, 'żółta łódź');
    await confirmKey(register);
    assert.equal(await register.ended, 0);
    assert.match(register.screen, new RegExp(`registered and logged in as ${name}`));

    const login = new Terminal(device, ['login', name]);
    await login.answer(/password: /, 'żółta łódź');
    assert.equal(await login.ended, 0);
    const wrong = new Terminal(device, ['login', name]);
    await wrong.answer(/password: /, 'wrong secret');
    assert.equal(await wrong.ended, 12);
    for (const { screen } of [differs, register, login, wrong]) assert.doesNotMatch(screen, /secret|łódź/);
  });

  test('Ctrl-C at the question for the password is 130', async () => {
    const { device } = shared;
    const login = new Terminal(device, ['login'], { env: { SZ_CONFIG: device.path('none') } });
    await login.until(/password: /);
    login.type('\u0003');
    assert.equal(await login.ended, 130);
    assert.match(login.screen, /interrupted/);
  });

  test('bars for each file and the whole, within the width of the terminal; Ctrl-C ends with 130', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await loggedIn(service);
    stack.defer(() => device.remove());
    for (const name of ['one', 'a file with a name that is far too long for any terminal', 'zażółć']) {
      await writeFile(device.path(name), randomBytes(6_000_000));
    }
    const names = ['one', 'a file with a name that is far too long for any terminal', 'zażółć'];
    const options = { columns: 72 };
    const put = new Terminal(device, ['put', ...names, '--bwlimit', '2M', '--volume-size', '512K'], options);
    await put.until(/one +\[#+-+\] +\d+ %.*\/s/);
    await put.until(/0 of 3 files +\[#+-+\] +[56]\d %/);
    put.type('\u0003');
    assert.equal(await put.ended, 130);
    assert.match(put.screen, /szafa: interrupted\r\nhint: run the same command again to resume/);
    // The terminal itself shows the key as ^C, in front of whatever line comes next.
    const shown = put.screen.replace('^C', '');
    const lines = shown.split('\n').map((line) => stripVTControlCharacters(line).replaceAll('\r', ''));
    assert.ok(
      lines.some((line) => /^a file.*….*erminal \[/.test(line)),
      put.screen,
    );
    for (const line of lines) assert.ok(Array.from(line).length < 100, line);
    const barLines = lines.filter((line) => line.includes(' %'));
    assert.ok(barLines.length > 4);
    for (const line of barLines) assert.ok(Array.from(line).length < 72, line);

    const again = new Terminal(device, ['put', ...names, '--volume-size', '512K'], options);
    assert.equal(await again.ended, 0);
    assert.match(again.screen, /of 12 volumes were already there/);
    assert.match(again.screen, /put 3 files, 17\.2 MiB/);
  });

  test('not on a terminal there are plain lines, and no control characters', async () => {
    const { device } = shared;
    await writeFile(device.path('plain'), randomBytes(1_100_000));
    const put = await device.ok(['put', 'plain', '--bwlimit', '250K', '--volume-size', '128K']);
    assert.match(put.stderr, /^szafa: 0 of 1 file, .* of 1\.05 MiB \(\d+ %\), .*\/s, .* left$/m);
    assert.doesNotMatch(put.stderr + put.stdout, /[^\P{Cc}\n]/u);
  });

  test('what is final is asked for, and no is the answer to anything but yes', async () => {
    const { device } = shared;
    await device.ok(['put', '-', '--name', 'precious', '--dir', 'box'], { input: 'x' });
    const no = new Terminal(device, ['rm', '--now', 'box/precious']);
    await no.answer(/delete 1 file permanently: box\/precious\? \[y\/N\] /, '');
    assert.equal(await no.ended, 1);
    assert.match(no.screen, /nothing was deleted/);
    const box = new Terminal(device, ['rm', '-r', '--now', 'box']);
    await box.answer(/delete 1 file permanently: box\/\? \[y\/N\] /, 'n');
    assert.equal(await box.ended, 1);
    const yes = new Terminal(device, ['rm', '--now', 'box/precious']);
    await yes.answer(/\[y\/N\] /, 'y');
    assert.equal(await yes.ended, 0);
    assert.deepEqual((await device.ok(['ls', 'box', '--json'])).lines, []);
  });

  test('what another device does between the question and the answer: only what was asked about goes', async () => {
    const { device } = shared;
    const put = (dir: string, name: string) =>
      device.ok(['put', '-', '--name', name, '--dir', dir], { input: name });
    const there = async (...args: string[]) =>
      (await device.ok([...args, '--json'])).lines.map(({ path }) => path);
    for (const name of ['one', 'two', 'three']) await put('late', name);
    const rm = new Terminal(device, ['rm', '-r', '--now', 'late']);
    await rm.until(/delete 3 files permanently: late\/\? \[y\/N\] /);
    await device.ok(['mv', 'late/two', 'kept/two']);
    await device.ok(['rm', 'late/three']);
    rm.type('y\r');
    assert.equal(await rm.ended, 3);
    assert.match(rm.screen, /late\/two: another device has changed this in the meantime; not deleted/);
    assert.deepEqual(await there('ls', '-R', 'kept'), ['kept/two']);
    assert.deepEqual(await there('trash'), ['late/three']);
    await put('kept', 'more');
    await device.ok(['rm', 'kept/two', 'kept/more']);
    const empty = new Terminal(device, ['trash', 'empty']);
    await empty.until(/delete 3 files in the trash permanently/);
    await device.ok(['restore', 'kept/two']);
    empty.type('y\r');
    assert.equal(await empty.ended, 0);
    assert.match(empty.screen, /deleted 2 files permanently/);
    assert.match(empty.screen, /1 file not in the trash any more/);
    assert.deepEqual(await there('ls', '-R', 'kept'), ['kept/two']);
    // Of versions, the same: what is the newest by now stays.
    for (const text of ['1', '2', '3']) {
      await device.ok(['put', '-', '--name', 'v', '--yes'], { input: text });
    }
    const ids = (await device.ok(['versions', 'v', '--json'])).lines.map((line) => String(line['file_id']));
    const prune = new Terminal(device, ['prune', '--keep', '1', '--now', 'v']);
    await prune.until(/delete 2 older versions permanently/);
    await device.ok(['rm', ids[0]!]);
    prune.type('y\r');
    assert.equal(await prune.ended, 3);
    const left = (await device.ok(['versions', 'v', '--json'])).lines.map((line) => String(line['file_id']));
    assert.deepEqual(left, [ids[1]]);
  });
});
