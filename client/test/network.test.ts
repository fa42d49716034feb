import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, connect as connectTcp, createServer as createTcp, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { assertBytes } from '../../tests/harness/bytes.ts';
import { Api, bytesSource, type Engine, fetchTransport, type Transport } from '../src/index.ts';
import { downloadToFile, fileJournal, nodeTransport, rateLimit } from '../src/node/index.ts';
import { type HostileProxy, isVolume, startProxy, volumeOf } from './proxy.ts';
import { content, engine, newUser, type Service, sameUser, startService, transport } from './service.ts';

let service: Service;
let proxy: HostileProxy;
before(async () => {
  service = await startService();
  proxy = await startProxy(service.url);
});
after(async () => {
  await proxy.stop();
  await service.stop();
  transport.close();
  await engine.close();
});

const retry = { forMs: 3_000, baseMs: 10, capMs: 100 };
const transports: [string, Transport][] = [
  ['fetch', fetchTransport],
  ['node', transport],
];

for (const [name, used] of transports) {
  const apiOf = (server: string, token?: string) => new Api({ server, token, transport: used, retry });

  test(`${name}: what may be repeated is repeated, what may not is not`, async () => {
    const szafa = await newUser(service.url);
    const waits: number[] = [];
    const options = { server: proxy.url, token: szafa.token, transport: used, retry };
    const api = new Api({ ...options, onRetry: (_, wait) => waits.push(wait) });
    let failures = 2;
    proxy.before = () => (failures-- > 0 ? 'cut' : undefined);
    assert.equal((await api.call('me')).username, szafa.username);
    assert.equal(waits.length, 2);
    failures = 1;
    proxy.before = () => (failures-- > 0 ? { status: 503, headers: { 'retry-after': '1' } } : undefined);
    const started = performance.now();
    await api.call('quota');
    assert.ok(performance.now() - started >= 990);
    proxy.requests.length = 0;
    proxy.before = () => 'cut';
    await assert.rejects(api.call('createDir', { body: { name: 'once' } }), { code: 'network' });
    await assert.rejects(api.call('cloneFile', { params: { file_id: 'x' }, body: { dir_id: null } }), {
      code: 'network',
    });
    assert.equal(proxy.requests.length, 2);
    proxy.before = () => ({ status: 507, body: Buffer.from('{"error":"full"}') });
    await assert.rejects(api.call('init', { body: {} as never }), {
      code: 'api',
      status: 507,
      kind: 'no-space',
      message: 'full',
    });
    proxy.before = undefined;
  });

  test(`${name}: a deletion whose answer was lost has worked`, async () => {
    const szafa = await newUser(service.url);
    const { fileId } = await szafa.upload(bytesSource(content(3)), { path: 'x' });
    const api = apiOf(proxy.url, szafa.token);
    let lost = false;
    proxy.hostility = ({ method }) => {
      if (method !== 'DELETE' || lost) return undefined;
      lost = true;
      return 'cut';
    };
    await api.call('deleteFile', { params: { file_id: fileId } });
    await assert.rejects(api.call('deleteFile', { params: { file_id: fileId } }), {
      code: 'api',
      status: 404,
    });
    proxy.hostility = () => undefined;
  });

  test(`${name}: a web page is not the service, nor is what does not speak HTTP`, async () => {
    const page = { headers: { 'content-type': 'text/html' }, body: Buffer.from('<!doctype html>') };
    for (const status of [200, 404, 302]) {
      proxy.before = () => ({ status, ...page });
      await assert.rejects(apiOf(proxy.url).call('me'), (error: { code: string; message: string }) => {
        // fetch follows nothing and tells no more than that.
        return error.code === 'not-the-service' || (status === 302 && error.code === 'network');
      });
    }
    proxy.before = () => ({ status: 502, ...page });
    await assert.rejects(apiOf(proxy.url).call('me'), { code: 'api', status: 502, kind: 'server' });
    proxy.before = undefined;
    assert.throws(() => apiOf('szafa.example'), { code: 'address' });
    assert.throws(() => apiOf('ftp://szafa.example'), { code: 'address' });
  });

  test(`${name}: nobody there`, async () => {
    const nobody = createTcp();
    await new Promise<void>((resolve) => nobody.listen(0, '127.0.0.1', resolve));
    const { port } = nobody.address() as AddressInfo;
    await new Promise((resolve) => nobody.close(resolve));
    const api = new Api({
      server: `http://127.0.0.1:${port}`,
      transport: used,
      retry: { forMs: 100, baseMs: 10 },
    });
    await assert.rejects(api.call('me'), { code: 'network' });
    await assert.rejects(api.call('me', { signal: AbortSignal.abort(new Error('stop')) }), /stop/);
  });
}

test('node: a certificate that is not accepted is said at once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'szafa-tls-'));
  const files = ['-keyout', join(folder, 'key'), '-out', join(folder, 'cert')];
  const ask = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=elsewhere'];
  execFileSync('openssl', [...ask, ...files], { stdio: 'ignore' });
  const server = createHttps({ key: readFileSync(files[1]!), cert: readFileSync(files[3]!) }, (_, answer) =>
    answer.end('{}'),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    const secure = new Api({ server: `https://127.0.0.1:${port}`, transport, retry });
    await assert.rejects(secure.call('me'), { code: 'network', certificate: true });
    const plain = new Api({ server: `http://127.0.0.1:${port}`, transport, retry: { forMs: 100 } });
    await assert.rejects(plain.call('me'), { code: /network|not-the-service/ });
    const wrong = new Api({
      server: service.url.replace('http:', 'https:'),
      transport,
      retry: { forMs: 100 },
    });
    await assert.rejects(wrong.call('me'), { code: 'not-the-service' });
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    rmSync(folder, { recursive: true });
  }
});

test('uploads and downloads go through a network that keeps breaking', async () => {
  const szafa = await sameUser(await newUser(service.url), proxy.url);
  let calls = 0;
  proxy.hostility = () => (++calls % 3 === 0 ? 'cut' : undefined);
  const { fileId } = await szafa.upload(bytesSource(content(9000)), { path: 'x', volumeSize: 1000 });
  const remote = await szafa.openFile(fileId);
  const path = join(service.folder, 'through');
  const seen: number[] = [];
  await downloadToFile(remote, path, { onProgress: ({ done }) => seen.push(done) });
  assertBytes(readFileSync(path), content(9000));
  assert.equal(seen.at(-1), 9000);
  proxy.hostility = () => undefined;
});

test('a download goes on from the volumes it has; what was changed on disk is fetched again', async () => {
  const user = await newUser(service.url);
  const { fileId } = await user.upload(bytesSource(content(8000)), { path: 'x', volumeSize: 1000 });
  let kept = 0;
  const watching: Engine = {
    ...engine,
    async sealSegments(...args) {
      const sealed = await engine.sealSegments(...args);
      kept += sealed.bytes.length;
      return sealed;
    },
  };
  const szafa = await sameUser(user, proxy.url, { engine: watching });
  const journal = fileJournal(join(service.folder, 'journal'));
  const path = join(service.folder, 'resumed');
  const remote = await szafa.openFile(fileId);
  proxy.before = (method, where) =>
    method === 'GET' && isVolume(where) && volumeOf(where) >= 6
      ? { status: 401, body: Buffer.from('{}') }
      : undefined;
  await assert.rejects(downloadToFile(remote, path, { journal, parallel: 1 }), { status: 401 });
  proxy.before = undefined;
  proxy.requests.length = 0;
  const part = join(service.folder, readdirSync(service.folder).find((name) => name.endsWith('.part'))!);
  const bytes = readFileSync(part);
  bytes[1500]! ^= 1;
  writeFileSync(part, bytes);
  const { resumed } = await downloadToFile(remote, path, { journal });
  assert.equal(resumed, 4);
  assert.equal(kept, 0, 'what is there is sealed for its digest alone, in no memory of volumes');
  assert.equal(proxy.requests.length, 4);
  assertBytes(readFileSync(path), content(8000));
  await assert.rejects(downloadToFile(remote, path), { code: 'target-exists' });
  await downloadToFile(remote, path, { overwrite: true });
  assert.deepEqual(
    readdirSync(service.folder).filter((name) => name.endsWith('.part')),
    [],
  );
  assert.deepEqual(
    readdirSync(join(service.folder, 'journal')).filter((name) => name.endsWith('.journal')),
    [],
  );
});

test('what comes to be at the target while a file is downloaded stays; what is exchanged under its part is refused', async () => {
  const szafa = await newUser(service.url);
  const options = { path: 'x', volumeSize: 1000, mtime: -1_234_567, mode: 0o640 };
  const { fileId } = await szafa.upload(bytesSource(content(3000)), options);
  const remote = await szafa.openFile(fileId);
  const folder = mkdtempSync(join(service.folder, 'meanwhile-'));
  const path = join(folder, 'x');
  const during = (work: () => void) => {
    let done = false;
    const onProgress = () => {
      if (!done) work();
      done = true;
    };
    return downloadToFile(remote, path, { onProgress });
  };
  const somebodys = during(() => writeFileSync(path, 'of somebody else'));
  await assert.rejects(somebodys, { code: 'target-exists' });
  assert.equal(readFileSync(path, 'utf8'), 'of somebody else');
  rmSync(path);
  const exchanged = during(() => {
    const part = join(folder, readdirSync(folder)[0]!);
    rmSync(part);
    writeFileSync(part, 'another file');
  });
  await assert.rejects(exchanged, { code: 'not-own' });
  assert.ok(!readdirSync(folder).includes('x'));
  assert.deepEqual(await downloadToFile(remote, path), { resumed: 0, there: false });
  const { mtimeMs, mode } = statSync(path);
  assert.deepEqual([mtimeMs, mode & 0o777], [-1_234_567, 0o640]);
  assert.deepEqual(readdirSync(folder), ['x']);
});

test('a rate limit holds', async () => {
  const limited = nodeTransport({ throttle: rateLimit(400_000) });
  try {
    const szafa = await newUser(service.url, { transport: limited });
    const started = performance.now();
    const { fileId } = await szafa.upload(bytesSource(content(400_000)), { path: 'x', volumeSize: 100_000 });
    assert.ok(performance.now() - started > 700);
    const again = performance.now();
    await (await szafa.openFile(fileId)).verify();
    assert.ok(performance.now() - again > 700);
  } finally {
    limited.close();
  }
});

test('a service that answers before it has read the body gets ciphertext only, whatever becomes of the memory', async () => {
  const text = Buffer.from('PLAINTEXT');
  const plain = new Uint8Array(Buffer.alloc(24 * 1024 * 1024, text));
  const user = await newUser(service.url);
  const received: Buffer[] = [];
  const target = new URL(service.url);
  const sockets: Socket[] = [];
  const hasty = createTcp((socket) => {
    sockets.push(socket);
    let head = '';
    socket.on('error', () => {}); // the client hangs up, as it should
    socket.once('data', (first: Buffer) => {
      head = first.toString('latin1');
      received.push(first);
      if (!head.startsWith('PUT')) {
        const upstream = connectTcp(Number(target.port), target.hostname);
        upstream.on('error', () => socket.destroy());
        upstream.write(first.toString('latin1').replace(/\r\n/, '\r\nconnection: close\r\n'), 'latin1');
        socket.pipe(upstream).pipe(socket);
        return;
      }
      socket.pause();
      socket.write(
        'HTTP/1.1 409 Conflict\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}',
      );
      setTimeout(() => socket.resume(), 100);
      socket.on('data', (part: Buffer) => received.push(part));
    });
  });
  await new Promise<void>((resolve) => hasty.listen(0, '127.0.0.1', resolve));
  const address = `http://127.0.0.1:${(hasty.address() as AddressInfo).port}`;
  const own = nodeTransport();
  try {
    const szafa = await sameUser(user, address, { transport: own });
    const options = { path: 'x', volumeSize: 2 * 1024 * 1024, parallel: 4 };
    await assert.rejects(szafa.upload(bytesSource(plain), options), { status: 409 });
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.equal(Buffer.concat(received).includes(Buffer.concat([text, text])), false);
  } finally {
    own.close();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => hasty.close(resolve));
  }
});

test('an upload that is stopped while its thumbnail is sent has succeeded: nobody sends it again', async () => {
  const szafa = await newUser(service.url);
  const user = await sameUser(szafa, proxy.url);
  for (const size of [10, 3_000_000]) {
    const stop = new AbortController();
    proxy.before = (method, path) => {
      if (method === 'PUT' && path.endsWith('/thumbnail')) stop.abort(new Error('paused'));
      return undefined;
    };
    const options = { path: `picture of ${size}`, thumbnail: content(9_000), signal: stop.signal };
    const { fileId } = await user.upload(bytesSource(content(size)), options);
    assert.ok(stop.signal.aborted);
    assert.equal((await szafa.tree()).file(options.path)?.entry.fileId, fileId);
  }
  proxy.before = undefined;
});
