import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { PullError, type PullFailure, runPull } from '../../src/transfers/pull/pull.ts';
import {
  childrenOf,
  contents,
  digests,
  folder,
  honest,
  isAlive,
  job,
  randomVolumes,
  serve,
  TOKEN,
  TRANSFER,
  until,
} from './fixture.ts';

const limit = { timeout: 60_000 };
const volumes = randomVolumes(100, 200);

function fails(pull: Promise<unknown>, kind: PullFailure, words = /./): Promise<void> {
  return assert.rejects(pull, (error) => {
    assert.ok(error instanceof PullError, String(error));
    assert.equal(error.kind, kind, error.message);
    assert.match(error.message, words);
    return true;
  });
}

const PATH = process.env['PATH']!;

/** A PATH of these folders for one test. */
function setPath(t: TestContext, ...folders: string[]): void {
  t.after(() => {
    process.env['PATH'] = PATH;
  });
  process.env['PATH'] = folders.join(':');
}

/** A folder that holds an aria2c of our making. */
async function fakeTool(t: TestContext, content: string | Buffer, mode = 0o755): Promise<string> {
  const path = await folder(t);
  await writeFile(join(path, 'aria2c'), content);
  await chmod(join(path, 'aria2c'), mode);
  return path;
}

/** A server that begins a volume and never ends it. */
function stuck(t: TestContext) {
  return serve(t, (request, response, idx) => {
    if (idx === 1) honest(volumes)(request, response, idx);
    else response.writeHead(200, { 'content-length': 200 }).write('x');
  });
}

test('the tool is not installed', limit, async (t) => {
  const client = await serve(t, honest(volumes));
  const empty = await folder(t);
  await mkdir(join(empty, 'aria2c'));
  for (const folders of [[empty], [], ['/nowhere', empty]]) {
    setPath(t, ...folders);
    const landing = await folder(t);
    await fails(runPull(job(client.url, landing, volumes)), 'missing-tool', /not installed/);
    assert.deepEqual(await contents(landing), {});
  }
});

test('the tool cannot be started', limit, async (t) => {
  const client = await serve(t, honest(volumes));
  const own = await readFile(process.execPath).then((bytes) => Buffer.from(bytes.subarray(0, 64)));
  const foreign = Buffer.from(own);
  foreign.writeUInt16LE(0xf0f0, 18);
  for (const path of [
    await fakeTool(t, '#!/bin/sh\nexit 0\n', 0o644),
    await fakeTool(t, 'not a program'),
    await fakeTool(t, ''),
    await fakeTool(t, Buffer.from([0, 1, 2, 3])),
    await fakeTool(t, '#!/no/such/interpreter\n'),
    await fakeTool(t, '#!/bin/sh\nexec /no/such/program\n'),
    await fakeTool(t, foreign),
  ]) {
    setPath(t, path);
    await fails(runPull(job(client.url, await folder(t), volumes)), 'cannot-start');
  }
});

test('a tool that may not be run does not hide one that may', limit, async (t) => {
  setPath(t, await fakeTool(t, '#!/bin/sh\nexit 9\n', 0o644), PATH);
  const client = await serve(t, honest(volumes));
  assert.deepEqual(await runPull(job(client.url, await folder(t), volumes)), { landed: [1, 2] });
});

test('the tool ends with an error', limit, async (t) => {
  const client = await serve(t, honest(volumes));
  for (const [script, words] of [
    ['exit 9', /code 9 \(disk full\)/],
    ['cat > /dev/null; exit 28', /code 28 \(bad option\)/],
    ['exit 99', /code 99 \(unknown meaning\)/],
    ['kill -9 $$', /killed by SIGKILL/],
  ] as const) {
    setPath(t, await fakeTool(t, `#!/bin/sh\nPATH=/usr/bin:/bin\n${script}\n`));
    await fails(runPull(job(client.url, await folder(t), volumes)), 'exit', words);
  }
});

test('an error of the tool stays one even where every volume landed', limit, async (t) => {
  const script = '#!/bin/sh\nprintf %0100d 0 > 1\nprintf %0200d 0 > 2\nexit 1\n';
  setPath(t, await fakeTool(t, script));
  const landing = await folder(t);
  await fails(runPull(job('http://127.0.0.1:1', landing, volumes)), 'exit', /code 1 /);
  assert.deepEqual(Object.keys(await contents(landing)), ['1', '2']);
});

test('a file that the tool has not finished does not count', limit, async (t) => {
  const script = '#!/bin/sh\nprintf %0100d 0 > 1\n: > 1.aria2\nprintf %0200d 0 > 2\n';
  setPath(t, await fakeTool(t, script));
  const landing = await folder(t);
  assert.deepEqual(await runPull(job('http://127.0.0.1:1', landing, volumes)), { landed: [2] });
  assert.deepEqual(Object.keys(await contents(landing)), ['2']);
});

test('children that outlive the tool are ended', limit, async (t) => {
  const notes = await folder(t);
  setPath(t, await fakeTool(t, `#!/bin/sh\n/bin/sleep 60 &\necho $! > ${notes}/pid\nexit 1\n`));
  await fails(runPull(job('http://127.0.0.1:1', await folder(t), volumes)), 'exit');
  const pid = Number(await readFile(join(notes, 'pid'), 'utf8'));
  await until(() => !isAlive(pid));
});

test('the time-out ends the tool and its children, and keeps what landed', limit, async (t) => {
  const client = await stuck(t);
  const landing = await folder(t);
  const pull = runPull({ ...job(client.url, landing, volumes), timeoutMs: 1500 });
  const pid = await until(async () => (await childrenOf(process.pid, 'aria2c'))[0]);
  await fails(pull, 'timeout');
  assert.ok(!isAlive(pid));
  assert.deepEqual(await contents(landing), digests(volumes, 1));
});

test('a tool that will not end, with a child of its own', limit, async (t) => {
  const notes = await folder(t);
  const script = `#!/bin/sh\ntrap '' TERM\n(trap '' TERM; /bin/sleep 60) &\necho $! > ${notes}/pid\nwait\nwait\n`;
  setPath(t, await fakeTool(t, script));
  const stop = new AbortController();
  const pull = runPull({ ...job('http://127.0.0.1:1', await folder(t), volumes), signal: stop.signal });
  const pid = await until(async () => Number(await readFile(join(notes, 'pid'), 'utf8').catch(() => '')));
  stop.abort();
  await fails(pull, 'aborted');
  await until(() => !isAlive(pid));
  assert.deepEqual(await childrenOf(process.pid, 'aria2c'), []);
});

test('a pull that is stopped leaves no process, socket or half file', limit, async (t) => {
  const client = await stuck(t);
  const landing = await folder(t);
  const stop = new AbortController();
  let count = 0;
  const onLanded = (landed: ReadonlySet<number>) => {
    count = landed.size;
  };
  const pull = runPull({ ...job(client.url, landing, volumes), signal: stop.signal, onLanded });
  await until(() => client.asked().length === 2 && count === 1);
  const [pid] = await childrenOf(process.pid, 'aria2c');
  stop.abort();
  await fails(pull, 'aborted');
  assert.ok(!isAlive(pid!));
  assert.deepEqual(await contents(landing), digests(volumes, 1));
  await fails(runPull({ ...job(client.url, landing, volumes), signal: stop.signal }), 'aborted');
});

test('arguments and environment of the tool hold nothing secret', limit, async (t) => {
  for (const name of ['http_proxy', 'no_proxy', 'SZ_SYSTEM_TOKEN']) {
    process.env[name] = 'http://127.0.0.1:9';
    t.after(() => {
      delete process.env[name];
    });
  }
  const client = await stuck(t);
  const landing = join(await folder(t), TRANSFER);
  await mkdir(landing);
  const stop = new AbortController();
  const pull = runPull({ ...job(client.url, landing, volumes), signal: stop.signal });
  await until(() => client.asked().length === 2);
  const [pid] = await childrenOf(process.pid, 'aria2c');
  const shown = await Promise.all(
    ['cmdline', 'environ'].map((name) => readFile(`/proc/${pid}/${name}`, 'utf8')),
  );
  stop.abort();
  await fails(pull, 'aborted');
  assert.match(shown[0]!, /--all-proxy=http:\/\/127\.0\.0\.1:\d+/);
  for (const secret of [TOKEN, TRANSFER, new URL(client.url).host]) {
    assert.ok(!shown.join('\0').includes(secret), secret);
  }
  assert.deepEqual(
    shown[1]!
      .split('\0')
      .map((entry) => entry.split('=')[0])
      .sort(),
    ['', 'LC_ALL', 'PATH'],
  );
});

test('a killed process leaves no tool behind', limit, async (t) => {
  const client = await stuck(t);
  const landing = await folder(t);
  const program = `
    import { runPull } from ${JSON.stringify(join(import.meta.dirname, '../../src/transfers/pull/pull.ts'))};
    await runPull({ transferId: 'x', token: 'x', baseUrl: ${JSON.stringify(client.url)}, landing: ${JSON.stringify(landing)},
      volumes: [{ idx: 1, size: 100 }, { idx: 2, size: 200 }], allow: () => true });`;
  const worker = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: 'ignore' });
  t.after(() => worker.kill('SIGKILL'));
  await until(() => client.asked().length === 2);
  const [pid] = await childrenOf(worker.pid!, 'aria2c');
  assert.ok(pid !== undefined && isAlive(pid));
  worker.kill('SIGKILL');
  await until(() => !isAlive(pid));
});
