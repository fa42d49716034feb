import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { test } from 'node:test';
import { shortened } from '../src/platform/log/log.ts';

const STDOUT = new URL('../src/fastlane/stdout.ts', import.meta.url).href;
const LOG = new URL('../src/platform/log/log.ts', import.meta.url).href;

const scriptOf = (code: string, terminal: boolean, level = 'info') =>
  `import { createLog, infoLater } from ${JSON.stringify(LOG)};
    import { unblockStdout as unblock } from ${JSON.stringify(STDOUT)};
    const log = createLog(${JSON.stringify(level)}, { terminal: ${terminal}, unblock }); ${code}`;

/** What a process writes that logs like this. */
function written(code: string, terminal: boolean, level?: string): string[] {
  const args = ['--input-type=module', '-e', scriptOf(code, terminal, level)];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    timeout: 20_000,
  });
  assert.equal(status, 0, stderr);
  return stdout.split('\n').filter((line) => line !== '');
}

const SLEEP = 'const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));';

const REQUEST = `infoLater(log, () => ({ method: 'GET', route: '/api/files', status: 200, ms: 1.5, user: 'ann', ip: '::1' }));`;

test('one JSON line for each event, with its time, for machines', () => {
  const [line, ...more] = written(`${REQUEST} log.debug('not shown');`, false);
  assert.deepEqual(more, []);
  const { time, ...rest } = JSON.parse(line!);
  assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.deepEqual(rest, {
    level: 30,
    method: 'GET',
    route: '/api/files',
    status: 200,
    ms: 1.5,
    user: 'ann',
    ip: '::1',
  });
});

test('a line that is made later stands where it came, with the time at which it came', () => {
  const code = `log.info('before'); ${REQUEST} const end = Date.now() + 50; while (Date.now() < end); log.info('after');`;
  const [before, request, after] = written(code, false).map((line) => JSON.parse(line));
  assert.deepEqual([before.msg, request.route, after.msg], ['before', '/api/files', 'after']);
  assert.ok(Date.parse(after.time) - Date.parse(request.time) >= 45, `${request.time}, ${after.time}`);
});

test('plain lines on a terminal', () => {
  const code = `${REQUEST} log.info('szafa listens'); log.warn({ n: 1 }, 'careful');
    log.error({ err: new Error('broken') }, 'it failed');`;
  const [request, message, warning, error, ...stack] = written(code, true);
  assert.match(request!, /^\d\d:\d\d:\d\d 200 GET \/api\/files 1\.5 ms ann ip=::1$/);
  assert.match(message!, /^\d\d:\d\d:\d\d szafa listens$/);
  assert.match(warning!, /^\d\d:\d\d:\d\d warning: careful n=1$/);
  assert.match(error!, /^\d\d:\d\d:\d\d error: it failed$/);
  assert.equal(stack[0], 'Error: broken');
});

test('what a client chose does nothing to a terminal, and makes no line of its own', () => {
  const code = String.raw`infoLater(log, () => ({ method: 'PUT', route: '/', status: 401, ms: 1, user: 'a\u202eb', volume: '\x1b[2J\n12:00 \x9b' }));
    log.error({ err: new Error('not\x07 this') }, 'bad\r');`;
  const [request, error, first] = written(code, true);
  assert.match(
    request!,
    /^\d\d:\d\d:\d\d 401 PUT \/ 1 ms a\\u\{202e\}b volume=\\u\{1b\}\[2J\\u\{a\}12:00 \\u\{9b\}$/,
  );
  assert.match(error!, /^\d\d:\d\d:\d\d error: bad\\u\{d\}$/);
  assert.equal(first, 'Error: not\\u{7} this');
});

test('a terminal that is closed ends the log, not the process', async () => {
  // The terminal is that of `script`, and goes with it.
  const code = `import { writeSync } from 'node:fs'; ${SLEEP}
    process.once('SIGHUP', async () => {
      for (let i = 0; i < 3; i++) { log.info('lost'); await sleep(10); }
      writeSync(3, 'lives'); process.exit();
    });
    writeSync(3, 'ready '); await sleep(20_000);`;
  const shell = `exec "$NODE" --input-type=module -e "$CODE"`;
  const terminal = spawn('script', ['-qec', shell, '/dev/null'], {
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    env: { ...process.env, NODE: process.execPath, CODE: scriptOf(code, true) },
  });
  let said = '';
  for await (const text of (terminal.stdio[3] as Readable).setEncoding('utf8')) {
    said += text;
    if (said === 'ready ') terminal.kill('SIGKILL');
  }
  assert.equal(said, 'ready lives');
});

test('a level hides what is below it', () => {
  assert.deepEqual(written(`${REQUEST} log.warn('w');`, true, 'error'), []);
  assert.deepEqual(written(`${REQUEST} log.error('e');`, true, 'silent'), []);
});

test('a log that has nothing to write does not wake its process', () => {
  const switches = 'process.resourceUsage().voluntaryContextSwitches';
  const code = `${SLEEP} ${REQUEST} await sleep(500);
    const before = ${switches}; await sleep(1000); log.info({ woken: ${switches} - before });`;
  const [, line] = written(code, false);
  const { woken } = JSON.parse(line!);
  assert.ok(woken < 10, `${woken} times in a second`);
});

test('an error is written, and what came before it, whatever happens to the process next', () => {
  const code = `${REQUEST} log.error('broken'); log.info('after'); process.kill(process.pid, 'SIGKILL');`;
  const args = ['--input-type=module', '-e', scriptOf(code, false)];
  const { stdout, signal } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 });
  assert.equal(signal, 'SIGKILL');
  const [request, error] = stdout.split('\n').filter((line) => line !== '');
  assert.equal(JSON.parse(request!).route, '/api/files');
  assert.equal(JSON.parse(error!).msg, 'broken');
});

test('a reader that goes away ends the log, not the process', async () => {
  const code = `${SLEEP} for (let i = 0; i < 8; i++) { ${REQUEST} await sleep(60); }`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', scriptOf(code, false)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 20_000,
  });
  child.stdout.destroy();
  const [status] = await once(child, 'exit');
  assert.equal(status, 0);
});

test('a process whose reader has gone ends all the same, with lines still to write', async () => {
  const code = `${SLEEP} process.send('ready'); await new Promise((go) => process.once('message', go));
    ${REQUEST} process.exit(3);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', scriptOf(code, false)], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    timeout: 20_000,
  });
  await once(child, 'message');
  child.stdout!.destroy();
  await once(child.stdout!, 'close');
  child.send('go');
  const [status] = await once(child, 'exit');
  assert.equal(status, 3);
});

test('a reader that stops hears, once it goes on, how much was dropped', async () => {
  const lines = 50_000;
  const code = `for (let i = 0; i < ${lines}; i++) { ${REQUEST} if (i % 1000 === 0) await new Promise(setImmediate); }
    process.send('all');
    setInterval(() => { ${REQUEST} }, 50).unref(); await new Promise((go) => process.once('message', go));
    process.disconnect();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', scriptOf(code, false)], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    timeout: 60_000,
  });
  await once(child, 'message');
  let text = '';
  let isTold = false;
  for await (const piece of child.stdout!.setEncoding('utf8')) {
    text += piece;
    if (!isTold && /were dropped/.test(text)) child.send('go');
    isTold ||= /were dropped/.test(text);
  }
  const written = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const told = written.flatMap(({ msg }) => msg?.match(/^(\d+) log lines were dropped/)?.[1] ?? []);
  assert.ok(told.length > 0);
  const kept = written.filter(({ msg }) => msg === undefined).length;
  assert.ok(kept + told.reduce((sum, count) => sum + Number(count), 0) >= lines);
});

test('a process whose reader has stopped ends all the same, also after another one that shares the pipe', async () => {
  // As a worker that exits, it leaves the pipe in a state in which a write waits for the reader.
  const code = `import { spawnSync } from 'node:child_process';
    for (let i = 0; i < 4000; i++) { ${REQUEST} if (i % 100 === 0) await new Promise(setImmediate); }
    spawnSync(process.execPath, ['-e', 'process.stdout.isTTY'], { stdio: 'inherit' });
    ${REQUEST} process.exit(3);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', scriptOf(code, false)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 20_000,
    killSignal: 'SIGKILL',
  });
  const [status] = await once(child, 'exit');
  child.stdout.destroy();
  assert.equal(status, 3);
});

test('lines of processes that share a pipe stay whole, in their order, when its reader is slow', () => {
  const lines = 2000;
  const code = `import { spawn } from 'node:child_process'; import { once } from 'node:events';
    const writing = async (by) => {
      // As the server does: from here on nobody waits for the reader.
      void process.stdout.isTTY;
      for (let i = 0; i < ${lines}; i++) { log.info({ by, i, x: 'x'.repeat(i % 300) }); if (i % 20 === 0) await new Promise(setImmediate); }
    };
    if (process.argv[1] === 'b') { process.send('here'); await writing('b'); }
    else {
      const other = spawn(process.execPath, [...process.execArgv, 'b'], { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
      // Not before both can write: the first would have done long before.
      await once(other, 'message');
      await Promise.all([writing('a'), once(other, 'exit')]);
      process.exit();
    }`;
  const slow = `const fs = require('node:fs'), bytes = Buffer.alloc(10_000), cell = new Int32Array(new SharedArrayBuffer(4));
    for (let n; (n = fs.readSync(0, bytes)) > 0; Atomics.wait(cell, 0, 0, 5)) fs.writeSync(1, bytes, 0, n);`;
  const shell = `"$0" --input-type=module -e "$1" | "$0" -e "$2"`;
  const { stdout } = spawnSync('sh', ['-c', shell, process.execPath, scriptOf(code, false), slow], {
    encoding: 'utf8',
    timeout: 60_000,
    maxBuffer: 64 * 1024 * 1024,
  });
  const written = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  for (const name of ['a', 'b']) {
    const numbers = written.filter(({ by }) => by === name).map(({ i }) => i);
    // Its last ones may be lost: a process that exits does not wait for ever.
    assert.ok(numbers.length > lines / 2, name);
    assert.deepEqual(numbers, [...numbers.keys()], name);
  }
});

test('a full disk drops lines, and the process goes on', () => {
  const code = `${SLEEP} ${REQUEST} await sleep(150); ${REQUEST} await sleep(150); process.exitCode = 4;`;
  const shell = `exec "$0" --input-type=module -e "$1" > /dev/full`;
  const { status, stderr } = spawnSync('sh', ['-c', shell, process.execPath, scriptOf(code, false)], {
    encoding: 'utf8',
    timeout: 20_000,
  });
  assert.equal(status, 4, stderr);
});

test('ids are cut so that they cannot be used', () => {
  assert.equal(shortened('abcdefghijklmnop'), 'abcdef…');
  assert.equal(shortened('12345678'), '12345678');
});
