/** Volumes and headers that are not those of the file. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  fromBase64Url,
  fromUtf8,
  HEAD_BYTES as HEAD,
  SEGMENT_SIZE as SEGMENT,
  TAG_BYTES,
  toBase64Url,
} from '@szafa/format';
import { assertBytes } from '../../tests/harness/bytes.ts';
import { type Bytes, bytesSource } from '../src/index.ts';
import { downloadToFile } from '../src/node/index.ts';
import {
  earlier,
  file,
  flipped,
  foreign,
  inHeader,
  onHeader,
  onVolume,
  proxy,
  refused,
  SIZE,
  service,
  stranger,
  szafa,
  volume,
} from './hostile.ts';
import { type Hostility, isVolume, volumeOf } from './proxy.ts';
import { content, newUser, password, sameUser } from './service.ts';

const SEALED = SEGMENT + TAG_BYTES;

test('a bit of a volume: first, middle, last byte; first, second and last volume', async () => {
  for (const idx of [1, 2, 3]) {
    for (const at of [0, 500, -1]) {
      const hostility = onVolume(idx, ({ body }) => ({ body: flipped(body, at) }));
      await refused(hostility, { code: 'tampered', stage: 'volume' });
    }
  }
});

test('header, MAC, keys, epoch and metadata', async () => {
  const flipIn = (key: string) =>
    inHeader((json) => ({ ...json, [key]: toBase64Url(flipped(fromBase64Url(json[key] as string), -1)) }));
  await refused(flipIn('file_id'), { code: 'tampered', stage: 'mac' });
  await refused(flipIn('metadata'), { code: 'tampered', stage: 'mac' });
  await refused(flipIn('file_key'), { code: 'tampered', stage: 'mac' });
  const flipMac = onHeader((params) => ({
    ...params,
    mac: toBase64Url(flipped(fromBase64Url(params['mac'] as string), 0)),
  }));
  await refused(flipMac, { code: 'tampered', stage: 'mac' });
  await refused(
    inHeader((json) => ({ ...json, epoch: 2 })),
    { code: 'tampered', stage: 'epoch' },
  );
  await refused(
    onHeader(() => ({})),
    { code: 'unsupported', stage: 'params' },
  );
  await refused(({ headers }) => ({ headers: { ...headers, 'x-enc-params': '!' } }), {
    code: 'tampered',
    stage: 'params',
  });
});

test('volumes reordered, repeated, dropped, cut, made longer; another X-Chunk-Count', async () => {
  const [one, two] = [await volume(szafa, file, 1), await volume(szafa, file, 2)];
  await refused(
    onVolume(1, () => ({ body: two.body })),
    { code: 'tampered', stage: 'volume' },
  );
  await refused(
    onVolume(2, () => ({ body: one.body })),
    { code: 'tampered', stage: 'volume' },
  );
  await refused(
    onVolume(3, () => ({ status: 404, body: Buffer.from('{"error":"gone"}') })),
    { code: 'api' },
  );
  await refused(
    onVolume(2, ({ body }) => ({ body: body.subarray(0, 900) })),
    { code: 'tampered', stage: 'volume' },
  );
  await refused(
    onVolume(2, () => ({ body: Buffer.alloc(0) })),
    { code: 'tampered', stage: 'volume' },
  );
  await refused(
    onVolume(2, ({ body }) => ({ body: Buffer.concat([body, body]) })),
    { code: 'tampered', stage: 'volume' },
  );
  for (const count of ['2', '4', '1e9', 'three', '']) {
    const lie: Hostility = ({ path, headers }) =>
      isVolume(path) ? { headers: { ...headers, 'x-chunk-count': count } } : undefined;
    await refused(lie, { code: 'tampered', stage: 'record' });
  }
  // The header was right; what comes with a later volume is a file of another length.
  await refused(
    onVolume(2, ({ headers }) => ({ headers: { ...headers, 'x-chunk-count': '2' } })),
    { code: 'tampered', stage: 'record' },
  );
});

test('a range: only its segments travel, and none that was changed or moved is given out', async () => {
  const whole = content(5 * SEGMENT);
  const owner = await newUser(service.url);
  await owner.upload(bytesSource(whole), { path: 'film', volumeSize: 3 * SEGMENT });
  const record = (await owner.list())[0]!.record;
  const user = await sameUser(owner, proxy.url);
  const asked: number[] = [];
  const open = () => user.openFile(record.file_id, { record, headOnly: true });
  const watch = (change: Hostility = () => undefined) => {
    asked.length = 0;
    proxy.hostility = (passing) => {
      if (isVolume(passing.path) && passing.method === 'GET') asked.push(passing.body.length);
      return change(passing);
    };
  };
  watch();
  let remote = await open();
  const ranges: [from: number, length: number, asked: number[]][] = [
    [0, 1, [HEAD + SEALED]],
    [SEGMENT - 1, 2, [HEAD + 2 * SEALED]],
    // The head of a volume is fetched once.
    [2 * SEGMENT + 5, 10, [SEALED]],
    [4 * SEGMENT, 5, [HEAD, SEALED]],
    [5 * SEGMENT - 1, 100, [SEALED]],
    // The end of the first volume, and all of the second.
    [3 * SEGMENT - 1, 2 * SEGMENT + 1, [SEALED, HEAD + 2 * SEALED]],
    [5 * SEGMENT, 1, []],
  ];
  for (const [from, length, expected] of ranges) {
    asked.length = 0;
    const got = await remote.readRange(from, length);
    assert.ok(Buffer.from(got).equals(whole.slice(from, from + length)), `${length} at ${from}`);
    assert.deepEqual(
      asked.toSorted((a, b) => a - b),
      expected,
      `${length} at ${from}`,
    );
  }
  const attacks: Hostility[] = [
    ({ body }) => ({ body: flipped(body, 0) }),
    ({ body }) => ({ body: flipped(body, -1) }),
    ({ body }) => ({ body: body.subarray(0, -1) }),
    ({ body }) => ({ body: Buffer.concat([body, Buffer.alloc(1)]) }),
    ({ body }) => ({ body, status: 200 }),
    ({ headers }) => ({ headers: { ...headers, 'x-chunk-count': '3' } }),
  ];
  for (const attack of attacks) {
    watch((passing) => (isVolume(passing.path) && passing.method === 'GET' ? attack(passing) : undefined));
    // The first of a volume, together with its head; one in the middle, beside it.
    for (const from of [10, SEGMENT + 10]) {
      remote = await open();
      await assert.rejects(remote.readRange(from, 10), { code: 'tampered' });
    }
  }
  // A head that was damaged on the way is not kept: the next read fetches it again.
  for (const from of [10, SEGMENT + 10]) {
    watch(({ path, body }) => (isVolume(path) ? { body: flipped(body, 0) } : undefined));
    remote = await open();
    await assert.rejects(remote.readRange(from, 10), { code: 'tampered', stage: 'volume' });
    watch();
    assertBytes(await remote.readRange(10, 10), whole.slice(10, 20));
  }
  // Another segment of the same volume, and the same one of another volume.
  const volumes = [await volume(owner, record, 1), await volume(owner, record, 2)];
  const segment = (v: number, j: number) =>
    volumes[v]!.body.subarray(HEAD + j * SEALED, HEAD + (j + 1) * SEALED);
  for (const body of [segment(0, 0), segment(0, 2), segment(1, 1)]) {
    watch(({ body: real }) => (real.length === SEALED ? { body } : undefined));
    await assert.rejects((await open()).readRange(SEGMENT + 10, 10), { code: 'tampered', stage: 'volume' });
  }
  // The head of another volume, with its segment.
  watch(({ body: real }) =>
    real.length === HEAD ? { body: volumes[1]!.body.subarray(0, HEAD) } : { body: segment(1, 1) },
  );
  await assert.rejects((await open()).readRange(SEGMENT + 10, 10), { code: 'tampered' });
  // A service that knows no ranges gives the whole volume, out of which the range is cut.
  watch(({ path, method }) =>
    isVolume(path) && method === 'GET' ? { status: 200, body: volumes[volumeOf(path) - 1]!.body } : undefined,
  );
  const cut = await (await open()).readRange(SEGMENT + 10, 10);
  assertBytes(cut, whole.slice(SEGMENT + 10, SEGMENT + 20));
  proxy.hostility = () => undefined;
});

test('a volume, or a header, of another file or of an earlier upload of the same file', async () => {
  const other = await volume(szafa, earlier, 2);
  await refused(
    onVolume(2, () => ({ body: other.body })),
    { code: 'tampered', stage: 'volume' },
  );
  await refused(
    onHeader(() => other.encParams),
    { code: 'tampered', stage: 'record' },
  );
  // Without the record from a listing the volumes, and their digests, still do not fit the header.
  await refused(
    onHeader(() => other.encParams),
    { code: 'tampered', stage: 'digests' },
    false,
  );
});

test('a header, or a wrapped key, of another account', async () => {
  const theirs = await volume(stranger, foreign, 1);
  await refused(
    onHeader(() => theirs.encParams),
    { code: 'tampered', stage: 'mac' },
  );
  const { file_key } = JSON.parse(fromUtf8(fromBase64Url(theirs.encParams['header'] as string)));
  await refused(
    inHeader((json) => ({ ...json, file_key })),
    { code: 'tampered', stage: 'mac' },
  );
});

test('another version, plaintext instead of ciphertext', async () => {
  await refused(
    onHeader((params) => ({ ...params, szafa: 0 })),
    { code: 'unsupported', stage: 'version' },
  );
  await refused(
    onHeader((params) => ({ ...params, szafa: 2 })),
    { code: 'unsupported', stage: 'version' },
  );
  const plain: Bytes = content(3 * SIZE);
  const bare = onVolume('all', ({ path }) => ({
    body: Buffer.from(plain.slice((volumeOf(path) - 1) * SIZE, volumeOf(path) * SIZE)),
  }));
  await refused(bare, { code: 'tampered', stage: 'volume' });
  const padded = onVolume('all', () => ({ body: Buffer.alloc(SIZE + 72, 'a') }));
  await refused(padded, { code: 'tampered', stage: 'volume' });
});

test('the last volume is bad after the others were fine: no file, and a good download afterwards', async () => {
  await refused(
    onVolume(3, ({ body }) => ({ body: flipped(body, 3) })),
    { code: 'tampered', stage: 'volume' },
  );
  const folder = mkdtempSync(join(service.folder, 'out-'));
  const user = await sameUser(szafa, proxy.url);
  await downloadToFile(await user.openFile(file.file_id, { record: file }), join(folder, 'target'));
  assertBytes(readFileSync(join(folder, 'target')), content(3 * SIZE));
  assert.deepEqual(readdirSync(folder), ['target']);
});

test('the service can tell neither that two files are equal nor what the password is', async () => {
  assert.notEqual(file.sha256, earlier.sha256);
  assert.notEqual(file.file_name, earlier.file_name);
  const [a, b] = [await volume(szafa, file, 1), await volume(szafa, earlier, 1)];
  assert.ok(!a.body.equals(b.body));
  assert.ok(!JSON.stringify(a.encParams).includes(password));
  assert.equal(a.body.includes(Buffer.from(content(32))), false);
});
