/** Shares between accounts, also over a service that exchanges keys, letters and whom they are for. */

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fingerprintText, type OwnIdentity, ownIdentity, sealLetter, toBase64Url, utf8 } from '@szafa/format';
import type { ReceivedShare as ReceivedAnswer, ShareBody } from '@szafa/protocol';
import { assertBytes } from '../../tests/harness/bytes.ts';
import { bytesSource, type ConnectOptions, type Entry, newTicket, type Szafa } from '../src/index.ts';
import { fileContacts } from '../src/node/index.ts';
import { sharedVolumeReader } from '../src/transfers/calls.ts';
import { proxy, service } from './hostile.ts';
import type { Hostility } from './proxy.ts';
import { content, engine, newUser, quick, readAll, sameUser } from './service.ts';

const more: Partial<ConnectOptions> = { engine: quick };
const user = () => newUser(service.url, more);

async function uploaded(owner: Szafa, path: string, seed = 1): Promise<Entry> {
  await owner.upload(bytesSource(content(5000, seed)), { path, volumeSize: 2000 });
  return (await owner.list()).find((entry) => entry.path === path)!;
}

const itemOf = (entry: Entry) => [{ entry, name: entry.name }];

async function given(alice: Szafa, bob: Szafa, path = 'a.txt', seed = 1): Promise<string> {
  return alice.shareWith(bob.username, itemOf(await uploaded(alice, path, seed)));
}

/** What the service lists for this account, changed. */
const onReceived =
  (change: (shares: ReceivedAnswer[]) => ReceivedAnswer[]): Hostility =>
  ({ path, body }) => {
    if (path !== '/api/shared') return undefined;
    const { shares } = JSON.parse(body.toString()) as { shares: ReceivedAnswer[] };
    return { body: Buffer.from(JSON.stringify({ shares: change(shares) })) };
  };

/** The identity of this account wherever another one is asked for. */
const onIdentity =
  (identity: string): Hostility =>
  ({ path, body }) => {
    if (!path.endsWith('/identity')) return undefined;
    return { body: Buffer.from(JSON.stringify({ ...JSON.parse(body.toString()), identity })) };
  };

test('what is shared with an account is listed, read and ended by it, and seen by its owner', async () => {
  const [alice, bob, carol] = [await user(), await user(), await user()];
  const entry = await uploaded(alice, 'folder/a.txt');
  const options = { title: 'for bob', note: 'hello', downloads: 3, expiresAt: new Date(Date.now() + 1e7) };
  // A name as that of a folder, of what has bytes.
  const items = [{ entry, name: 'a.txt//' }];
  const id = await alice.shareWith(bob.username, items, options);
  const [share, ...others] = await bob.sharedWithMe();
  assert.deepEqual(others, []);
  assert.deepEqual(
    [share!.id, share!.from, share!.title, share!.size, share!.files, share!.downloadsLeft, share!.problem],
    [id, alice.username, 'for bob', 5000, 1, 3, undefined],
  );
  assert.equal(share!.expiresAt, options.expiresAt.toISOString());
  const opened = await share!.open();
  assert.equal(opened.note, 'hello');
  assert.deepEqual(
    opened.files.map(({ name, size, missing }) => [name, size, missing]),
    [['a.txt', 5000, false]],
  );
  const ticket = newTicket(engine);
  await opened.take(ticket);
  const read = await readAll(opened.file(1, ticket).stream());
  assertBytes(read, content(5000));
  assert.deepEqual(await carol.sharedWithMe(), []);
  const [own] = await alice.links();
  assert.deepEqual(
    [own!.id, own!.to, own!.link, own!.downloaded, own!.title],
    [id, bob.username, undefined, 1, 'for bob'],
  );
  // A new name, and new keys of both, change nothing.
  await alice.rename([{ entry, path: 'elsewhere' }]);
  const proof = { password: 'correct horse battery staple' };
  for (const who of [alice, bob]) await who.replaceMaster(proof, undefined);
  const [after] = await (await sameUser(bob, service.url, more)).sharedWithMe();
  assertBytes(await readAll((await after!.open()).file(1, ticket).stream()), content(5000));
  await bob.endReceived(id);
  assert.deepEqual(await bob.sharedWithMe(), []);
  assert.equal((await alice.links())[0]!.ended, 'ended');
  await assert.rejects(after!.open(), { code: 'link-over', why: 'ended' });
  await assert.rejects(alice.shareWith(alice.username, itemOf(entry)), { code: 'own-account' });
  await assert.rejects(alice.shareWith('nobody_is_this', itemOf(entry)), { code: 'no-contact' });
});

test('a passphrase, which only links have, does not lock a share with an account', async () => {
  const [alice, bob] = [await user(), await user()];
  const options = { note: 'hello', passphrase: 'nobody tells bob' };
  await alice.shareWith(bob.username, itemOf(await uploaded(alice, 'a.txt')), options);
  const [share] = await bob.sharedWithMe();
  assert.equal((await share!.open()).files.length, 1);
  assert.equal((await alice.links())[0]!.hasPassphrase, false);
});

test('who shares with an account asks for its name once, and shows that in the share', async () => {
  const [alice, bob] = [await user(), await user()];
  const entry = await uploaded(alice, 'a.txt');
  const there = await sameUser(alice, proxy.url, more);
  proxy.requests.length = 0;
  await there.shareWith(bob.username, itemOf(entry));
  assert.equal(proxy.requests.filter(({ path }) => path.endsWith('/identity')).length, 1);
  const { sent } = proxy.requests.find(({ method, path }) => method === 'POST' && path === '/api/shares')!;
  const { identity } = await alice.api.call('readIdentity', { params: { username: bob.username } });
  const seen = (JSON.parse(sent.toString()) as ShareBody).to!.identity;
  assert.equal(seen, (await engine.sha256(utf8(identity))).toHex());
});

test('both see the same fingerprints; keys are pinned when first seen, and other ones stop everything until they are accepted', async () => {
  const folder = mkdtempSync(join(service.folder, 'contacts-'));
  const [alice, bob, mallory] = [await user(), await user(), await user()];
  const entry = await uploaded(alice, 'a.txt');
  const contacts = fileContacts(folder);
  const device = () => sameUser(alice, proxy.url, { ...more, contacts });
  // What was never shown here cannot have been compared.
  await assert.rejects((await device()).verifyContact(bob.username), { code: 'not-seen' });
  assert.deepEqual(readdirSync(folder), []);
  const seen = await (await device()).contact(bob.username);
  assert.deepEqual(seen, { username: bob.username, fingerprint: await bob.fingerprint(), state: 'known' });
  assert.equal((await bob.contact(alice.username)).fingerprint, await alice.fingerprint());
  assert.match(seen.fingerprint, /^(\d{5} ){11}\d{5}$/);
  assert.equal((await (await device()).verifyContact(bob.username)).state, 'verified');
  // The service gives keys of its own, for which it has the secrets.
  const { serviceId } = await alice.keys.identity();
  const secrets = { x25519: engine.random(32), ed25519: engine.random(32) };
  const evil = await ownIdentity(engine, { serviceId, username: bob.username }, secrets);
  proxy.hostility = onIdentity(toBase64Url(evil.document));
  proxy.requests.length = 0;
  const changed = { code: 'contact-changed', username: bob.username, wasVerified: true };
  const careful = await device();
  await assert.rejects(careful.shareWith(bob.username, itemOf(entry)), changed);
  await assert.rejects(careful.verifyContact(bob.username), changed);
  assert.equal((await careful.contact(bob.username)).state, 'changed');
  // The pin is that of the service, at each of its addresses.
  const { host } = new URL(proxy.url);
  const otherAddress = await sameUser(alice, `http://localhost:${host.split(':')[1]}`, { ...more, contacts });
  assert.equal((await otherAddress.contact(bob.username)).state, 'changed');
  assert.ok(
    proxy.requests.every(({ method }) => method !== 'POST'),
    'nothing was shared',
  );
  // Who accepts a fingerprint accepts that one.
  const { fingerprint } = seen;
  await assert.rejects(careful.acceptContact(bob.username, fingerprint), { code: 'other-fingerprint' });
  await assert.rejects(careful.acceptContact(bob.username, '12345'), { code: 'fingerprint' });
  // Whoever has never seen the right ones is not stopped, and finds it out by comparing.
  const naive = await sameUser(alice, proxy.url, more);
  assert.notEqual((await naive.contact(bob.username)).fingerprint, await bob.fingerprint());
  // The keys of another account are not taken for those of this one.
  const theirs = await alice.api.call('readIdentity', { params: { username: mallory.username } });
  proxy.hostility = onIdentity(theirs.identity);
  for (const who of [careful, naive])
    await assert.rejects(who.contact(bob.username), { code: 'tampered', stage: 'identity' });
  proxy.hostility = onIdentity(toBase64Url(evil.document));
  const dashed = ` ${fingerprintText(evil).replaceAll(' ', '-')} `;
  assert.equal((await careful.acceptContact(bob.username, dashed)).state, 'verified');
  proxy.hostility = () => undefined;
  assert.equal((await (await device()).contact(bob.username)).state, 'changed');
  // What is damaged is not taken for nothing.
  for (const name of readdirSync(folder)) writeFileSync(join(folder, name), '{}');
  await assert.rejects((await device()).shareWith(bob.username, itemOf(entry)), { code: 'pins' });
});

test('a service that exchanges letters, senders, recipients or signatures is found out', async () => {
  const [alice, bob, carol] = [await user(), await user(), await user()];
  const first = await given(alice, bob, 'one.txt', 1);
  const second = await given(alice, bob, 'two.txt', 2);
  const toCarol = await given(alice, carol, 'three.txt', 3);
  const [forCarol] = (await carol.api.call('listReceived')).shares;
  const own = (await bob.api.call('listReceived')).shares;
  const [one, two] = [own.find(({ id }) => id === first)!, own.find(({ id }) => id === second)!];
  const device = await sameUser(bob, proxy.url, more);
  assert.deepEqual(
    (await device.sharedWithMe()).map(({ problem }) => problem),
    [undefined, undefined],
  );
  const { serviceId } = await bob.keys.identity();
  const forged = async (username: string) => {
    const secrets = { x25519: engine.random(32), ed25519: engine.random(32) };
    return ownIdentity(engine, { serviceId, username }, secrets);
  };
  const evil = await forged(alice.username);
  const to = await bob.keys.identity();
  const key = { secret: engine.random(32), digest: engine.random(16) };
  const letterFrom = async (from: OwnIdentity) =>
    toBase64Url(
      await sealLetter(engine, { shareId: first, from, to }, { key, title: 'x', size: 1, made: 1 }),
    );
  const letter = await letterFrom(evil);
  const lookalike = await forged(alice.username.replace(/[a-z]/, '\u0430'));
  const flip = (text: string, at: number) => {
    const bytes = Buffer.from(text, 'base64url');
    bytes[at < 0 ? bytes.length + at : at]! ^= 1;
    return bytes.toString('base64url');
  };
  const attacks: [string, ReceivedAnswer, { code: string; stage?: string }][] = [
    ['the letter of another share', { ...one, letter: two.letter }, { code: 'tampered', stage: 'signature' }],
    ['a letter to somebody else', { ...forCarol!, id: first }, { code: 'tampered', stage: 'signature' }],
    ['a share for somebody else', forCarol!, { code: 'tampered', stage: 'signature' }],
    [
      'a name with a letter that looks like another',
      {
        ...{ ...one, from: lookalike.username, identity: toBase64Url(lookalike.document) },
        letter: await letterFrom(lookalike),
      },
      { code: 'tampered', stage: 'identity' },
    ],
    ['another sender', { ...one, from: carol.username }, { code: 'tampered', stage: 'identity' }],
    [
      'another sender, with that one’s keys',
      {
        ...one,
        from: carol.username,
        identity: (await bob.api.call('readIdentity', { params: { username: carol.username } })).identity,
      },
      { code: 'tampered', stage: 'signature' },
    ],
    [
      'a changed signature',
      { ...one, letter: flip(one.letter, 1) },
      { code: 'tampered', stage: 'signature' },
    ],
    [
      'changed sealed bytes',
      { ...one, letter: flip(one.letter, -1) },
      { code: 'tampered', stage: 'signature' },
    ],
    ['no signature', { ...one, letter: 'AQ' }, { code: 'tampered', stage: 'letter' }],
    [
      'an id that is no base64url of 16 bytes',
      { ...one, id: `${one.id.slice(0, -1)}B` },
      { code: 'tampered', stage: 'letter' },
    ],
    ['no base64url', { ...one, letter: '=' }, { code: 'tampered', stage: 'letter' }],
    ['another suite', { ...one, letter: flip(one.letter, 0) }, { code: 'unsupported', stage: 'suite' }],
    [
      'keys of the service in place of the sender’s',
      { ...one, identity: toBase64Url(evil.document), letter },
      { code: 'contact-changed' },
    ],
  ];
  for (const [what, answer, refusal] of attacks) {
    proxy.hostility = onReceived(() => [answer, two]);
    const [good, bad] = await device.sharedWithMe();
    const { code, stage } = bad!.problem as { code: string; stage?: string };
    assert.deepEqual({ code, ...(refusal.stage !== undefined && { stage }) }, refusal, what);
    assert.deepEqual([bad!.title, bad!.size, bad!.madeAt, bad!.verified], ['', 0, undefined, false], what);
    await assert.rejects(bad!.open(), refusal, what);
    assert.equal(good!.problem, undefined, what);
  }
  // An earlier one as the latest: what its owner signed says otherwise.
  proxy.hostility = onReceived((shares) =>
    shares.toReversed().map((share, at) => ({ ...share, created_at: new Date(5e12 - at).toISOString() })),
  );
  const ordered = await device.sharedWithMe();
  assert.deepEqual(
    ordered.map(({ id }) => id),
    [second, first],
  );
  const times = ordered.map(({ madeAt }) => Date.parse(madeAt!));
  assert.ok(times[0]! >= times[1]! && Math.abs(times[0]! - Date.now()) < 600_000, `${times}`);
  await device.contact(alice.username);
  assert.equal(ordered[0]!.verified, false);
  await device.verifyContact(alice.username);
  assert.equal((await device.sharedWithMe())[0]!.verified, true);
  // The right letter, and what another share has behind it.
  const header = (await bob.api.call('openReceived', { params: { share_id: second } })).header;
  proxy.hostility = ({ path, body }) =>
    path === `/api/shared/${first}`
      ? { body: Buffer.from(JSON.stringify({ ...JSON.parse(body.toString()), header })) }
      : undefined;
  const share = (await device.sharedWithMe()).find(({ id }) => id === first)!;
  await assert.rejects(share.open(), { code: 'tampered', stage: 'link' });
  // The right header, and volumes of the other share.
  const others = await (await bob.sharedWithMe()).find(({ id }) => id === second)!.open();
  const [ticket, theirs] = [newTicket(engine), newTicket(engine)];
  await others.take(theirs);
  proxy.hostility = () => undefined;
  const opened = await share.open();
  await opened.take(ticket);
  const volume = await sharedVolumeReader(bob.api, { id: second, number: 1, ticket: theirs }).readVolume(
    1,
    2 ** 20,
  );
  const body = Buffer.from(volume.body);
  proxy.hostility = ({ path }) =>
    path.includes(`/api/shares/${first}/files/1/chunk/1`) ? { body } : undefined;
  await assert.rejects(readAll(opened.file(1, ticket).stream()), { code: 'tampered', stage: 'volume' });
  proxy.hostility = () => undefined;
  assertBytes(await readAll(opened.file(1, ticket).stream()), content(5000, 1));
  assert.equal((await carol.sharedWithMe())[0]!.id, toCarol);
  // In the list of the owner, too, none is shown as another.
  const seen = await sameUser(alice, proxy.url, more);
  proxy.hostility = ({ path, body: text }) => {
    if (path !== '/api/shares') return undefined;
    const { shares } = JSON.parse(text.toString()) as { shares: { own: string }[] };
    return {
      body: Buffer.from(JSON.stringify({ shares: shares.map((one) => ({ ...one, own: shares[0]!.own })) })),
    };
  };
  assert.deepEqual(
    (await seen.links()).map(({ problem }) => problem?.code),
    [undefined, 'tampered', 'tampered'],
  );
  proxy.hostility = () => undefined;
});

test('of several processes that see an account for the first time one is the first, and who gives up ends it for nobody else', async () => {
  const folder = mkdtempSync(join(service.folder, 'contacts-'));
  const pins = Array.from({ length: 8 }, (_, at) => ({ digest: `${at}`.repeat(64), verified: false }));
  const store = () => fileContacts(folder).of('alice', '0'.repeat(32));
  const kept = await Promise.all(pins.map((pin) => store().saveFirst('bob', pin)));
  assert.deepEqual(new Set(kept.map(({ digest }) => digest)).size, 1);
  assert.deepEqual(await store().load('bob'), kept[0]);
  assert.equal(readdirSync(folder).length, 1);
  const alice = await sameUser(await user(), service.url, more);
  const given = new AbortController();
  const [first, other] = [alice.keys.identity(given.signal), alice.keys.identity()];
  given.abort(new Error('enough'));
  await assert.rejects(first, /enough/);
  assert.equal((await other).username, alice.username);
});
