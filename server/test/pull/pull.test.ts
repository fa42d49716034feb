import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { PullError, runPull } from '../../src/transfers/pull/pull.ts';
import { contents, digests, folder, honest, job, randomVolumes, serve, TRANSFER } from './fixture.ts';

const MIB = 1024 * 1024;
const limit = { timeout: 60_000 };

for (const ranges of [true, false]) {
  test(`volumes of every size land, ${ranges ? 'with' : 'without'} ranges`, limit, async (t) => {
    const volumes = randomVolumes(0, 1, MIB, 8 * MIB, 2 * MIB + 1);
    const landing = await folder(t);
    const client = await serve(t, honest(volumes, { ranges }));
    const counts: number[] = [];
    const pulled = await runPull({
      ...job(client.url, landing, volumes),
      onLanded: (landed) => counts.push(landed.size),
    });
    assert.deepEqual(pulled, { landed: [1, 2, 3, 4, 5] });
    assert.deepEqual(await contents(landing), digests(volumes));
    assert.deepEqual([...new Set(counts)], [0, 1, 2, 3, 4, 5]);
  });
}

test('bodies of unknown length land', limit, async (t) => {
  const volumes = randomVolumes(0, 1, 3 * MIB);
  const landing = await folder(t);
  const client = await serve(t, (_request, response, idx) => {
    response.writeHead(200).write(volumes.get(idx)!);
    response.end();
  });
  assert.deepEqual(await runPull(job(client.url, landing, volumes)), { landed: [1, 2, 3] });
  assert.deepEqual(await contents(landing), digests(volumes));
});

test('the client is asked for exactly the specified address', limit, async (t) => {
  const volumes = randomVolumes(10);
  const seen: string[] = [];
  const client = await serve(t, (request, response, idx) => {
    seen.push(`${request.method} ${request.headers.host} ${request.url}`);
    honest(volumes)(request, response, idx);
  });
  const token = "a+b/c=='%26[1-3]{x}";
  await runPull({ ...job(`${client.url}/sub%20folder/`, await folder(t), volumes), token });
  const path = `/sub%20folder/pull/${TRANSFER}/1?token=a%2Bb%2Fc%3D%3D%27%2526%5B1-3%5D%7Bx%7D`;
  assert.deepEqual(seen, [`GET ${new URL(client.url).host} ${path}`]);
});

test(
  '100 volumes: at most 8 at a time with at most 4 connections, and that many are used',
  limit,
  async (t) => {
    const volumes = randomVolumes(
      ...Array.from({ length: 100 }, (_, i) => (i % 4 === 0 ? 4 * MIB : 1000 + i)),
    );
    const open = new Map<number, number>();
    let downloads = 0;
    let connections = 0;
    const eight = Promise.withResolvers<void>();
    const client = await serve(t, (request, response, idx) => {
      open.set(idx, (open.get(idx) ?? 0) + 1);
      if (open.size === 8) eight.resolve();
      response.on('close', () => {
        const left = open.get(idx)! - 1;
        if (left === 0) open.delete(idx);
        else open.set(idx, left);
      });
      const answer = () => {
        downloads = Math.max(downloads, open.size);
        connections = Math.max(connections, ...open.values());
        honest(volumes)(request, response, idx);
      };
      // Nobody is answered before eight have come; later, long enough for the end of a dropped connection to be noticed here too.
      void eight.promise.then(() => setTimeout(answer, 40));
    });
    const landing = await folder(t);
    const { landed } = await runPull(job(client.url, landing, volumes));
    assert.equal(landed.length, 100);
    assert.deepEqual(await contents(landing), digests(volumes));
    assert.equal(downloads, 8);
    assert.ok(connections > 1 && connections <= 4, `${connections} connections`);
  },
);

test('the next pull goes on from what landed', limit, async (t) => {
  const volumes = randomVolumes(1000, 2 * MIB, 3000, 4000);
  const landing = await folder(t);
  const broken = await serve(t, (request, response, idx) => {
    if (idx === 3) response.writeHead(404).end();
    else honest(volumes)(request, response, idx);
  });
  await assert.rejects(
    runPull(job(broken.url, landing, volumes)),
    (error) =>
      error instanceof PullError && error.kind === 'exit' && /code 3 .*answered 404/.test(error.message),
  );
  assert.deepEqual(await contents(landing), digests(volumes, 1, 2, 4));

  const good = await serve(t, honest(volumes));
  const counts: number[] = [];
  const pulled = await runPull({
    ...job(good.url, landing, volumes),
    onLanded: (landed) => counts.push(landed.size),
  });
  assert.deepEqual(pulled, { landed: [1, 2, 3, 4] });
  assert.deepEqual(good.asked(), [3]);
  assert.equal(counts[0], 3);
  assert.deepEqual(await contents(landing), digests(volumes));

  const idle = await serve(t, honest(volumes));
  assert.deepEqual(await runPull(job(idle.url, landing, volumes)), { landed: [1, 2, 3, 4] });
  assert.deepEqual(idle.requests, []);
});

test('what a crash left half-done is fetched again', limit, async (t) => {
  const volumes = randomVolumes(1000, 2000);
  const landing = await folder(t);
  await writeFile(join(landing, '1'), volumes.get(1)!.subarray(0, 500));
  await writeFile(join(landing, '9'), 'no such volume');
  await mkdir(join(landing, '.pull-before'));
  await writeFile(join(landing, '.pull-before', '2'), volumes.get(2)!);
  const client = await serve(t, honest(volumes));
  assert.deepEqual(await runPull(job(client.url, landing, volumes)), { landed: [1, 2] });
  assert.deepEqual(await contents(landing), digests(volumes));
});

test('a connection that breaks is taken up where it broke', limit, async (t) => {
  const volumes = randomVolumes(MIB);
  const landing = await folder(t);
  let broken = false;
  const client = await serve(t, (request, response, idx) => {
    if (broken) return honest(volumes)(request, response, idx);
    broken = true;
    response.writeHead(200, { 'content-length': MIB });
    response.write(volumes.get(1)!.subarray(0, MIB / 2), () => setTimeout(() => response.destroy(), 50));
  });
  assert.deepEqual(await runPull(job(client.url, landing, volumes)), { landed: [1] });
  assert.deepEqual(await contents(landing), digests(volumes));
  assert.deepEqual(client.requests, ['1', `1 bytes=${MIB / 2}-${MIB - 1}`]);
});

test('IPv6 and names', limit, async (t) => {
  const volumes = randomVolumes(100);
  const six = await serve(t, honest(volumes), { host: '::1' });
  const allow = (address: string) => address === '::1' || address === '127.0.0.1';
  assert.deepEqual(await runPull({ ...job(six.url, await folder(t), volumes), allow }), { landed: [1] });
  const four = await serve(t, honest(volumes));
  const named = four.url.replace('127.0.0.1', 'localhost');
  assert.deepEqual(await runPull(job(named, await folder(t), volumes)), { landed: [1] });
});
