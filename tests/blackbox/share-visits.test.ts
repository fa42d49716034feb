/** What a link gives to whoever has it, how often and how long. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import { type Answer, assertError, assertOk, sha256, withService } from '../harness/index.ts';
import { bodyOf, end, listed, random, service, share, Visitor } from './shares.ts';

describe('shares', () => {
  test('whoever knows the link gets the header, takes a ticket and reads, without a token', async () => {
    const { owner, visitor, file, body } = await share({ downloads: 3 });
    const opened = await visitor.open();
    assertOk(opened, { header: body.header, expires_at: null, downloads_left: 3, missing: [] });
    assert.equal(opened.headers['cache-control'], 'no-store');
    const ticket = random(32);
    assertOk(await visitor.take(ticket));
    const volume = await visitor.read(ticket, 1, 2);
    assert.equal(volume.status, 200);
    assert.ok(volume.body.equals(file.volumes[1] as Buffer));
    assert.equal(volume.headers['x-chunk-count'], '2');
    assert.equal(volume.headers.etag, `"${sha256(file.volumes[1]!)}"`);
    // What is the owner's is not given out.
    assert.equal(volume.headers['x-enc-params'], undefined);
    const all = [opened, volume].map((answer) =>
      JSON.stringify([answer.headers, answer.body.toString('latin1')]),
    );
    assert.ok(all.every((text) => !text.includes(owner.username) && !text.includes(file.init.file_name)));
    const part = await visitor.read(ticket, 1, 2, { range: 'bytes=10-19' });
    assert.equal(part.status, 206);
    assert.ok(part.body.equals((file.volumes[1] as Buffer).subarray(10, 20)));
    assert.equal(
      (await visitor.read(ticket, 1, 1, { 'if-none-match': `"${sha256(file.volumes[0]!)}"` })).status,
      304,
    );
    assertError(await visitor.read(ticket, 1, 1, { range: 'bytes=5000-' }), 416);
    for (const [number, idx] of [
      [1, 3],
      [2, 1],
      [0, 1],
      [1, 0],
      [1, 2 ** 40],
      [2 ** 40, 1],
    ] as const) {
      assertError(await visitor.read(ticket, number, idx), 404);
    }
    const [own] = await listed(owner);
    const { created_at, ...rest } = own!;
    assert.ok(Math.abs(Date.now() - Date.parse(created_at)) < 60_000);
    const counts = { downloads: 3, downloaded: 1, files: 1, missing: 0, ended: null, expires_at: null };
    assert.deepEqual(rest, { id: body.id, own: body.own, to: null, ...counts });
  });

  test('without the right access every share is as one that never was, live or over', async () => {
    const [live, over, never] = [await share(), await share(), random(16)];
    assertOk(await end(over.owner, over.body.id));
    const ticket = random(32);
    assertOk(await live.visitor.take(ticket));
    const strangers = [live.body.id, over.body.id, never].map((id) => new Visitor(service, id, random(32)));
    const answers = await Promise.all(
      strangers.flatMap((one) => [one.open(), one.open(ticket), one.take(ticket)]),
    );
    assert.deepEqual(
      new Set(answers.map(({ status, body }) => `${status} ${body}`)),
      new Set(['404 {"error":"there is no such link"}']),
    );
    const reads = await Promise.all(strangers.map((one) => one.read(random(32), 1, 1)));
    assert.equal(new Set(reads.map(({ status, body }) => `${status} ${body}`)).size, 1);
    assertError(reads[0]!, 404);
    // Neither with odd texts.
    for (const access of ['', 'x'.repeat(5000), '%00', live.body.access])
      assertError(await live.visitor.open(undefined, access), 404);
    for (const id of ['', '.', '%2e%2e', 'x'.repeat(3000)]) {
      const answer = await service.call({ method: 'GET', path: `/api/shares/${id}` });
      assert.ok([401, 404].includes(answer.status), `${id}: ${answer.status}`);
    }
  });

  test('who knows the link is told why it is over', async () => {
    const ended = await share();
    assertOk(await end(ended.owner, ended.body.id));
    assert.deepEqual((await ended.visitor.open()).json['ended'], 'ended');
    const used = await share({ downloads: 1 });
    const ticket = random(32);
    assertOk(await used.visitor.take(ticket));
    const late = await used.visitor.take(random(32));
    assertError(late, 410);
    assert.equal(late.json['ended'], 'used up');
    assert.equal((await used.visitor.open()).json['ended'], 'used up');
    assertError(await used.visitor.open(random(32)), 410);
    // Whoever downloads it goes on.
    assertOk(await used.visitor.open(ticket));
    assertOk(await used.visitor.take(ticket));
    assert.equal((await used.visitor.read(ticket, 1, 1)).status, 200);
    assert.equal((await listed(used.owner))[0]!.ended, 'used up');
    const access = random(32);
    const expires_at = new Date(Date.now() + 3000).toISOString();
    const soon = bodyOf([used.fileId], access, { expires_at });
    assertOk(await used.owner.post(pathOf('createShare'), soon));
    const [visitor, reader] = [new Visitor(service, soon.id, access), random(32)];
    assertOk(await visitor.take(reader));
    assert.equal((await visitor.read(reader, 1, 1)).status, 200);
    await new Promise((resolve) => setTimeout(resolve, Date.parse(expires_at) - Date.now() + 5));
    assertError(await visitor.read(reader, 1, 1), 404);
    assert.equal((await visitor.open()).json['ended'], 'expired');
    const found = (await listed(used.owner)).find(({ id }) => id === soon.id);
    assert.equal(found?.ended, 'expired');
  });

  test('of many at once, exactly as many get a ticket as there are, and each counts once however often it reads', async () => {
    const { owner, visitor } = await share({ downloads: 7 });
    const tickets = Array.from({ length: 20 }, () => random(32));
    const answers = await Promise.all([...tickets, ...tickets].map((ticket) => visitor.take(ticket)));
    const good = new Set(answers.flatMap(({ status }, at) => (status === 200 ? [tickets[at % 20]!] : [])));
    assert.equal(good.size, 7);
    assert.ok(answers.every(({ status }) => status === 200 || status === 410));
    const reads = [...good].flatMap((ticket) => [
      visitor.read(ticket, 1, 1),
      visitor.read(ticket, 1, 2, { range: 'bytes=1-2' }),
    ]);
    assert.deepEqual(new Set((await Promise.all(reads)).map(({ status }) => status)), new Set([200, 206]));
    assert.equal((await listed(owner))[0]!.downloaded, 7);
  });
});

test('an address that asks too often is sent away for a while; who reads with a ticket is not', async () => {
  await withService({ env: { SZ_WORKERS: '2' } }, async (strict) => {
    const { visitor } = await share({}, strict);
    const ticket = random(32);
    assertOk(await visitor.take(ticket));
    const stranger = new Visitor(strict, random(16), random(32));
    let refused: Answer | undefined;
    for (let at = 0; at < 40 && !refused; at++) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => stranger.open()));
      refused = answers.find(({ status }) => status === 429);
    }
    assert.ok(refused, 'nobody was refused');
    assert.ok(Number(refused.headers['retry-after']) > 0);
    assert.equal((await visitor.read(ticket, 1, 1)).status, 200);
  });
});
