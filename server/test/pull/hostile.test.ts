import assert from 'node:assert/strict';
import { promises as dns } from 'node:dns';
import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { PullError, type PullFailure, runPull } from '../../src/transfers/pull/pull.ts';
import { contents, digests, folder, honest, job, randomVolumes, serve, TOKEN, TRANSFER } from './fixture.ts';

const MIB = 1024 * 1024;
const limit = { timeout: 60_000 };

/** A pull that fails in this way and says nothing that is secret. */
function fails(pull: Promise<unknown>, kind: PullFailure, words = /./): Promise<void> {
  return assert.rejects(pull, (error) => {
    assert.ok(error instanceof PullError, String(error));
    assert.equal(error.kind, kind, error.message);
    assert.match(error.message, words);
    assert.ok(!error.message.includes(TOKEN) && !error.message.includes(TRANSFER), error.message);
    assert.doesNotMatch(error.message, /127\.0\.0|localhost/);
    return true;
  });
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(302, { location }).end();
}

test('an address that is not allowed', limit, async (t) => {
  const volumes = randomVolumes(100);
  const other = await serve(t, honest(volumes), { host: '127.0.0.2' });
  const six = await serve(t, honest(volumes), { host: '::1' });
  for (const url of [
    other.url,
    six.url,
    other.url.replace('127.0.0.2', '2130706434'),
    other.url.replace('127.0.0.2', '0177.0.0.2'),
    other.url.replace('127.0.0.2', '[::ffff:127.0.0.2]'),
    other.url.replace('127.0.0.2', '0.0.0.0'),
  ]) {
    await fails(runPull(job(url, await folder(t), volumes)), 'refused');
  }
  assert.deepEqual([...other.requests, ...six.requests], []);
});

test('a redirect to an address that is not allowed', limit, async (t) => {
  const volumes = randomVolumes(100, 100);
  const other = await serve(t, honest(volumes), { host: '127.0.0.2' });
  for (const location of [
    other.url,
    other.url.replace('http:', ''),
    other.url.replace('127.0.0.2', 'user@127.0.0.1'),
    'ftp://127.0.0.1/x',
    'file:///etc/passwd',
  ]) {
    const client = await serve(t, (_request, response) => redirect(response, location));
    const landing = await folder(t);
    await fails(runPull(job(client.url, landing, volumes)), 'refused');
    assert.deepEqual(await contents(landing), {}, location);
  }
  assert.deepEqual(other.requests, []);
});

test('a redirect to an allowed address is followed, up to five times', limit, async (t) => {
  const volumes = randomVolumes(100, 4 * MIB);
  const good = await serve(t, honest(volumes));
  const client = await serve(t, (request, response) => {
    const hop = Number(new URL(request.url!, 'http://x').searchParams.get('hop') ?? '1');
    redirect(
      response,
      hop < 5 ? `${request.url!.replace(/&hop=.*/, '')}&hop=${hop + 1}` : `${good.url}${request.url}`,
    );
  });
  const landing = await folder(t);
  assert.deepEqual(await runPull(job(client.url, landing, volumes)), { landed: [1, 2] });
  assert.deepEqual(await contents(landing), digests(volumes));
  const endless = await serve(t, (request, response) => redirect(response, request.url!));
  await fails(
    runPull(job(endless.url, await folder(t), randomVolumes(100))),
    'exit',
    /redirects more than 5 times/,
  );
  assert.equal(endless.requests.length, 6);
});

test('a name is resolved once, so it cannot change its mind', limit, async (t) => {
  const volumes = randomVolumes(100, 4 * MIB, 100);
  const other = await serve(t, honest(volumes), { host: '127.0.0.2' });
  const client = await serve(t, honest(volumes));
  const lookup = t.mock.method(dns, 'lookup', async () => [
    { address: lookup.mock.callCount() === 0 ? '127.0.0.1' : '127.0.0.2', family: 4 },
  ]);
  const named = client.url.replace('127.0.0.1', 'client.test');
  const allow = (address: string) => address.startsWith('127.');
  const pulled = await runPull({ ...job(named, await folder(t), volumes), allow });
  assert.deepEqual(pulled, { landed: [1, 2, 3] });
  assert.equal(lookup.mock.callCount(), 1);
  assert.deepEqual(other.requests, []);
});

test('of several addresses only the allowed ones are used', limit, async (t) => {
  const volumes = randomVolumes(100);
  const client = await serve(t, honest(volumes));
  // It would answer: the refused address comes first, at the same port.
  const other = await serve(t, honest(volumes), {
    host: '127.0.0.2',
    port: Number(new URL(client.url).port),
  });
  t.mock.method(dns, 'lookup', async () => [
    { address: '127.0.0.2', family: 4 },
    { address: '127.0.0.1', family: 4 },
  ]);
  const named = client.url.replace('127.0.0.1', 'client.test');
  assert.deepEqual(await runPull(job(named, await folder(t), volumes)), { landed: [1] });
  assert.deepEqual(other.requests, []);
  assert.deepEqual(client.asked(), [1]);
});

test('bodies that do not fit their spec are left out without an error', limit, async (t) => {
  const volumes = randomVolumes(1000, 1000, 1000, 1000, 1000, 0, 4 * MIB, 1000);
  const landing = await folder(t);
  let sent = 0;
  const client = await serve(t, (request, response, idx) => {
    const pump = () => {
      if (response.destroyed) return;
      sent += 65536;
      response.write(Buffer.alloc(65536), () => setImmediate(pump));
    };
    const body = volumes.get(idx)!;
    if (idx === 1) response.writeHead(200, { 'content-length': 1001 }).end(Buffer.alloc(1001));
    else if (idx === 2) response.writeHead(200, { 'content-length': 999 }).end(Buffer.alloc(999));
    else if (idx === 3) pump();
    else if (idx === 4) response.writeHead(200).end(Buffer.alloc(10));
    else if (idx === 5) response.writeHead(200, { 'content-length': 2 ** 50 }).write('x');
    else if (idx === 6) response.writeHead(200, { 'content-length': 1 }).end('x');
    else if (idx === 7 && request.headers.range !== undefined) {
      // Asked for a part, it offers all of it as one.
      response.writeHead(206, {
        'content-length': body.length,
        'content-range': `bytes 0-${body.length - 1}/${body.length}`,
      });
      response.end(body);
    } else if (idx === 7) {
      response.writeHead(200, { 'content-length': body.length }).write(body.subarray(0, MIB / 2));
    } else honest(volumes)(request, response, idx);
  });
  const began = Date.now();
  assert.deepEqual(await runPull(job(client.url, landing, volumes)), { landed: [8] });
  assert.ok(Date.now() - began < 15_000, 'a connection that stands still was waited for');
  assert.deepEqual(await contents(landing), digests(volumes, 8));
  for (const idx of ['1', '2', '3', '4', '5', '6']) {
    assert.equal(client.requests.filter((line) => line === idx).length, 1, `requests for ${idx}`);
  }
  assert.ok(sent < 16 * MIB, `${sent} bytes of the endless body were taken`);
});

test('a body that stops before its announced end is an error', limit, async (t) => {
  const volumes = randomVolumes(1000);
  const landing = await folder(t);
  const client = await serve(t, (_request, response) => {
    response.writeHead(200, { 'content-length': 1000 });
    response.write(Buffer.alloc(10), () => response.destroy());
  });
  await fails(runPull(job(client.url, landing, volumes)), 'exit', /broke the connection/);
  assert.deepEqual(await contents(landing), {});
  assert.ok(client.requests.length <= 8, `${client.requests.length} tries`);
});

test('errors of the client are words', limit, async (t) => {
  const volumes = randomVolumes(10, 10);
  for (const [status, words] of [
    [404, /code 3 \(volume not found\): the client's server answered 404/],
    [500, /code 22 \(unexpected HTTP response\): the client's server answered 500/],
    [503, /answered 503/],
    [407, /answered 407/],
    [204, /answered 204/],
    [304, /answered 304/],
  ] as const) {
    const client = await serve(t, (_request, response) => response.writeHead(status).end());
    await fails(runPull(job(client.url, await folder(t), volumes)), 'exit', words);
  }
  const unfinished = await serve(t, (_request, response) => {
    response.writeHead(404, { 'content-length': 1000 }).write('not');
  });
  await fails(runPull(job(unfinished.url, await folder(t), volumes)), 'exit', /answered 404/);
  const gone = await serve(t, honest(volumes));
  const free = gone.url.replace(/\d+$/, '1');
  await fails(runPull(job(free, await folder(t), volumes)), 'exit', /refused the connection/);
  t.mock.method(dns, 'lookup', async () => {
    throw Object.assign(new Error('getaddrinfo ENOTFOUND client.test'), { code: 'ENOTFOUND' });
  });
  await fails(runPull(job('http://client.test', await folder(t), volumes)), 'exit', /name that is not known/);
});

test('a server that is gone is given up soon, however many volumes there are', limit, async (t) => {
  const volumes = new Map(Array.from({ length: 10_000 }, (_, i) => [i + 1, Buffer.alloc(1)]));
  const began = Date.now();
  await fails(runPull(job('http://127.0.0.1:1', await folder(t), volumes)), 'exit', /pull failed: .*refused/);
  assert.ok(Date.now() - began < 10_000);
});

test('a certificate that nobody vouches for', limit, async (t) => {
  const tls = await readFile(join(import.meta.dirname, 'tls.pem'), 'utf8');
  const volumes = randomVolumes(100, 4 * MIB);
  const client = await serve(t, honest(volumes), { tls });
  const landing = await folder(t);
  await fails(runPull(job(client.url, landing, volumes)), 'exit', /certificate that is not trusted/);
  assert.deepEqual(client.requests, []);
  const before = getCACertificates('default');
  t.after(() => setDefaultCACertificates(before));
  setDefaultCACertificates([tls.slice(0, tls.indexOf('-----BEGIN PRIVATE'))]);
  assert.deepEqual(await runPull(job(client.url, landing, volumes)), { landed: [1, 2] });
  assert.deepEqual(await contents(landing), digests(volumes));
});

test('metalinks and torrents are volumes like any other', limit, async (t) => {
  const bait = await serve(t, honest(randomVolumes(10)));
  const metalink = Buffer.from(
    `<?xml version="1.0"?><metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="9"><url>${bait.url}/pull/x/1?token=</url></file></metalink>`,
  );
  const torrent = Buffer.from(
    `d8:announce${bait.url.length + 2}:${bait.url}/a4:infod6:lengthi1e4:name1:912:piece lengthi16384e6:pieces20:aaaaaaaaaaaaaaaaaaaaee`,
  );
  const volumes = new Map([
    [1, metalink],
    [2, torrent],
    [3, metalink],
  ]);
  const client = await serve(t, (_request, response, idx) => {
    const body = volumes.get(idx)!;
    response.writeHead(200, {
      'content-length': body.length,
      'content-type': idx === 2 ? 'application/x-bittorrent' : 'application/metalink4+xml',
      'content-disposition': `attachment; filename="../../${idx}.${idx === 2 ? 'torrent' : 'meta4'}"`,
      link: `<${bait.url}/pull/x/1?token=>; rel=duplicate; pri=1`,
      digest: 'SHA-256=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=',
    });
    response.end(body);
  });
  const landing = await folder(t);
  assert.deepEqual(await runPull(job(client.url, landing, volumes)), { landed: [1, 2, 3] });
  assert.deepEqual(await contents(landing), digests(volumes));
  assert.deepEqual(bait.requests, []);
});
