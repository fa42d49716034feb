/** What a visitor remembers of uploads by a request, on a real service: nothing is counted twice, and nothing stays counted that nobody can go on with. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { SALT_BYTES } from '@szafa/format';
import { assertBytes } from '../../tests/harness/bytes.ts';
import { parseRequest, RequestVisit, type Szafa, webEngine } from '../src/index.ts';
import { fileJournal, fileSource } from '../src/node/index.ts';
import { deliveryKey } from '../src/sharing/request-upload.ts';
import { uploadLog } from '../src/transfers/upload/journal.ts';
import { proxy, service } from './hostile.ts';
import { type HostileProxy, startProxy } from './proxy.ts';
import type { Service } from './service.ts';
import { content, engine, newUser, optionsFor, quick, readAll, startService } from './service.ts';

const { server: _, ...visiting } = optionsFor('', { engine: webEngine() });

/** A request for one file, the file, and a visitor's journal. */
async function setUp(name: string) {
  const owner = await newUser(service.url, { engine: quick });
  const { link } = await owner.requestLink({ folder: 'in', files: 1, size: 100_000 });
  const path = join(service.folder, name);
  const bytes = content(24_000, 7);
  writeFileSync(path, bytes);
  const journal = fileJournal(join(service.folder, `${name} journal`));
  const visit = await RequestVisit.begin(link.replace(service.url, proxy.url), visiting);
  const send = async (onWait?: () => void) => {
    const source = await fileSource(path);
    try {
      return await visit.upload(source, { name, volumeSize: 4096, parallel: 1, journal, onWait });
    } finally {
      await source.close();
    }
  };
  return { owner, visit, path, bytes, journal, send };
}

const uploading = async (owner: Szafa) => (await owner.requests())[0]!.uploading;

async function taken(owner: Szafa): Promise<Uint8Array> {
  const [delivery, ...none] = await owner.deliveries();
  assert.deepEqual(none, []);
  await owner.takeOver(delivery!);
  const [entry] = await owner.list();
  return readAll((await owner.openFile(entry!.fileId)).stream());
}

/** The service begins the upload, and the visitor never hears of it. */
async function lostAnswer(send: () => Promise<unknown>): Promise<void> {
  proxy.hostility = ({ path }) => (path.endsWith('/uploads') ? 'cut' : undefined);
  try {
    await assert.rejects(send(), { code: 'network' });
  } finally {
    proxy.hostility = () => undefined;
  }
}

test('an upload that was begun without the visitor hearing of it is the same one later', async () => {
  const { owner, bytes, send } = await setUp('unheard');
  await lostAnswer(send);
  assert.equal(await uploading(owner), 1);
  await send();
  assertBytes(await taken(owner), bytes);
});

test('one that was begun unheard can be given up, and is begun anew where the file is another by then', async () => {
  const { owner, visit, path, journal, send } = await setUp('changed');
  await lostAnswer(send);
  assert.equal(await visit.storedOf(journal, { place: path, name: 'changed' }), 0);
  await visit.abandon(journal, { place: path, name: 'changed' });
  assert.equal(await uploading(owner), 0);
  await lostAnswer(send);
  const other = content(9000, 3);
  writeFileSync(path, other);
  await send();
  assertBytes(await taken(owner), other);
});

test('one whose file changes stays in the journal until the service has heard that it is given up', async () => {
  const { owner, path, journal, send } = await setUp('rewritten');
  const noted: number[] = [];
  let volumes = 0;
  proxy.before = async (method) => {
    if (method === 'PUT' && ++volumes === 3) writeFileSync(path, content(24_000, 9));
    if (method === 'DELETE') noted.push((await journal.keys!()).length);
    return undefined;
  };
  try {
    await assert.rejects(send(), { code: 'file-changed' });
  } finally {
    proxy.before = undefined;
  }
  // A visitor who is stopped between the two can still give it up: it would count in the request otherwise.
  assert.deepEqual(noted, [1]);
  assert.deepEqual(await journal.keys!(), []);
  assert.equal(await uploading(owner), 0);
});

test('what a request refused leaves nothing in the journal', async () => {
  const { journal, send } = await setUp('refused');
  await send();
  await assert.rejects(send(), { code: 'link-over', why: 'full' });
  assert.deepEqual(await journal.keys!(), []);
});

test('of two that upload one file by one link, with one journal, the second waits, and goes on if the first fails', async () => {
  const { owner, bytes, send } = await setUp('twice');
  const waits = Promise.withResolvers<void>();
  let [volumes, waited] = [0, false];
  proxy.before = async (method) => {
    if (method !== 'PUT' || ++volumes < 3) return undefined;
    // Sent by the second, which ought to wait: the third is held.
    if (volumes > 3) waits.resolve();
    await waits.promise;
    return 'cut';
  };
  const first = send();
  // Not before the first one is at work.
  while (volumes < 3) await new Promise((resolve) => setTimeout(resolve, 20));
  const second = send(() => {
    waited = true;
    waits.resolve();
  });
  const goOn = () => waits.resolve();
  second.then(goOn, goOn);
  await assert.rejects(first, { code: 'network' });
  proxy.before = undefined;
  assert.ok(waited);
  assert.ok((await second).resumed >= 2);
  assertBytes(await taken(owner), bytes);
});

suite('a journal that somebody has meddled with', () => {
  const bytes = content(24_000, 7);

  async function setUpMany(name: string) {
    const owner = await newUser(service.url, { engine: quick });
    const { link } = await owner.requestLink({ folder: 'in', files: 20, size: 1_000_000 });
    const folder = join(service.folder, `${name} journal`);
    const journal = fileJournal(folder);
    const address = { ...parseRequest(link), server: proxy.url };
    const visit = await RequestVisit.begin(address, visiting);
    const pathOf = (of: string) => join(service.folder, of);
    const send = async (of: string, signal?: AbortSignal) => {
      const source = await fileSource(pathOf(of));
      try {
        return await visit.upload(source, { name: of, volumeSize: 4096, parallel: 1, journal, signal });
      } finally {
        await source.close();
      }
    };
    /** Broken off after three of its volumes; where its entry is. */
    const cutOff = async (of: string) => {
      const stop = new AbortController();
      let sent = 0;
      proxy.before = (method) => {
        if (method !== 'PUT' || ++sent <= 3) return undefined;
        stop.abort();
        return 'cut';
      };
      try {
        await assert.rejects(send(of, stop.signal), { name: 'AbortError' });
      } finally {
        proxy.before = undefined;
      }
      return join(folder, `${await keyOf(of)}.journal`);
    };
    const keyOf = (of: string) => deliveryKey(engine, address, { place: pathOf(of), name: of });
    const logOf = async (of: string) => uploadLog(journal, await keyOf(of), engine, [address.key.psk]);
    return { owner, journal, send, cutOff, logOf, pathOf };
  }

  /** Each with its length before it. */
  function recordsIn(entry: Buffer): Buffer[] {
    const records: Buffer[] = [];
    for (let at = 0; at < entry.length; ) {
      const end = at + 4 + entry.readUInt32BE(at);
      records.push(entry.subarray(at, end));
      at = end;
    }
    return records;
  }

  function flipped(record: Buffer): Buffer {
    const copy = Buffer.from(record);
    copy[copy.length - 1]! ^= 1;
    return copy;
  }

  test('torn, cut, in another order: the file arrives whole, and under one salt there are never two texts', async () => {
    const { owner, journal, send, cutOff, pathOf } = await setUpMany('torn');
    writeFileSync(pathOf('torn'), bytes);
    proxy.requests.length = 0;
    const meddlings: ((entry: Buffer, records: Buffer[]) => Buffer[])[] = [
      () => [],
      (entry) => [entry.subarray(0, 3)],
      (entry) => [entry.subarray(0, -1)],
      (_, [state]) => [state!],
      (_, [state, ...rest]) => [flipped(state!), ...rest],
      (_, [state, first, ...rest]) => [state!, flipped(first!), ...rest],
      (_, [state, _first, ...rest]) => [state!, ...rest],
      (_, records) => records.toReversed(),
      (entry) => [entry, entry],
    ];
    for (const meddle of meddlings) {
      const path = await cutOff('torn');
      const entry = readFileSync(path);
      writeFileSync(path, Buffer.concat(meddle(entry, recordsIn(entry))));
      await send('torn');
      assertBytes(await taken(owner), bytes);
      await owner.trash(await owner.list());
      assert.deepEqual(await journal.keys!(), []);
    }
    const texts = new Map<string, Buffer>();
    const sent = proxy.requests.filter(({ method }) => method === 'PUT');
    for (const { path, sent: body } of sent) {
      const place = `${path} ${body.subarray(0, SALT_BYTES).toString('hex')}`;
      assert.ok((texts.get(place) ?? body).equals(body), place);
      texts.set(place, body);
    }
    assert.ok(texts.size > 6 * meddlings.length);
  });

  test('the entry of another file, or of another link, is not taken for one’s own, and what it tells of stays', async () => {
    const { owner, send, cutOff, pathOf } = await setUpMany('other');
    for (const name of ['this', 'that']) writeFileSync(pathOf(name), bytes);
    const [here, there] = [await cutOff('this'), await cutOff('that')];
    const own = readFileSync(here);
    writeFileSync(here, readFileSync(there));
    await send('this');
    assert.ok((await send('that')).resumed >= 3, 'the upload of the other file was given up');
    const other = await setUpMany('other link');
    const place = await other.cutOff('this');
    writeFileSync(place, own);
    await other.send('this');
    const came = async (of: Szafa) => (await of.deliveries()).map(({ name }) => name).sort();
    assert.deepEqual([await came(owner), await came(other.owner)], [['that', 'this'], ['this']]);
  });

  test('sizes and paths that no upload has are as no entry', async () => {
    const { owner, send, logOf, pathOf } = await setUpMany('hostile');
    writeFileSync(pathOf('hostile'), bytes);
    const secrets = { fileId: engine.random(16), fileKey: engine.random(32) };
    const state = { transferId: '', path: 'hostile', place: pathOf('hostile'), identity: '', ...secrets };
    const layout = { size: 24_000, padded: 24_000, volumeSize: 4096, lateVolumeSize: 4096, count: 6 };
    const log = await logOf('hostile');
    for (const wrong of [
      { layout: { ...layout, volumeSize: 0 } },
      { layout: { ...layout, volumeSize: Number.NaN } },
      { layout: { ...layout, size: -1 } },
      { layout: { ...layout, size: 2 ** 60 } },
      { layout: { ...layout, size: 'x' as unknown as number } },
      { place: '/etc/passwd' },
      { path: '../../hostile' },
      { transferId: '../../account' },
    ]) {
      await log.begin({ ...state, layout, ...wrong });
      await send('hostile');
    }
    const came = await owner.deliveries();
    assert.deepEqual(
      came.map(({ name, size, problem }) => [name, size, problem]),
      Array(8).fill(['hostile', 24_000, undefined]),
    );
  });
});

suite('what a service refuses before it has begun is in the way of nothing', () => {
  const MOST = 50_000;
  let small: Service;
  let between: HostileProxy;
  before(async () => {
    const most = String(MOST);
    small = await startService({ SZ_QUOTA: most, SZ_QUOTA_ENFORCE: '1', SZ_MAX_VOLUME: most });
    between = await startProxy(small.url);
  });
  after(async () => {
    await between.stop();
    await small.stop();
  });

  async function setUpSmall(name: string) {
    const owner = await newUser(small.url, { engine: quick });
    const { link } = await owner.requestLink({ folder: 'in', files: 9, size: 9 * MOST });
    const path = join(small.folder, name);
    const journal = fileJournal(join(small.folder, `${name} journal`));
    const visit = await RequestVisit.begin(link.replace(small.url, between.url), visiting);
    const send = async (bytes: Uint8Array, volumeSize: number, signal?: AbortSignal) => {
      writeFileSync(path, bytes);
      const source = await fileSource(path);
      try {
        return await visit.upload(source, { name, volumeSize, journal, signal });
      } finally {
        await source.close();
      }
    };
    /** The service hears nothing of it: whether it has begun, nobody knows. */
    const unheard = async (bytes: Uint8Array, volumeSize: number) => {
      const stop = new AbortController();
      between.before = (_method, asked) => {
        if (!asked.endsWith('/uploads')) return undefined;
        stop.abort();
        return 'cut';
      };
      try {
        await assert.rejects(send(bytes, volumeSize, stop.signal), { name: 'AbortError' });
      } finally {
        between.before = undefined;
      }
      assert.equal((await journal.keys!()).length, 1);
    };
    return { owner, visit, path, journal, send, unheard };
  }

  const [large, fits] = [content(2 * MOST, 7), content(9000, 3)];
  // More than the quota; a volume that is too large.
  for (const [status, volumeSize] of [
    [507, 8192],
    [400, 2 * MOST],
  ] as const) {
    test(`${status}: nothing of it stays, and what fits is taken`, async () => {
      const { owner, journal, send } = await setUpSmall(`at once ${status}`);
      await assert.rejects(send(large, volumeSize), { code: 'api', status });
      assert.deepEqual(await journal.keys!(), []);
      await send(fits, 4096);
      assertBytes(await taken(owner), fits);
    });

    test(`${status} to one that was sent unheard: it is begun anew as the file is by now`, async () => {
      const { owner, journal, send, unheard } = await setUpSmall(`later ${status}`);
      await unheard(large, volumeSize);
      await send(fits, 4096);
      assertBytes(await taken(owner), fits);
      assert.deepEqual(await journal.keys!(), []);
    });

    test(`${status} to one that was sent unheard: it can be given up`, async () => {
      const name = `given up ${status}`;
      const { owner, visit, path, journal, unheard } = await setUpSmall(name);
      await unheard(large, volumeSize);
      await visit.abandon(journal, { place: path, name });
      assert.deepEqual(await journal.keys!(), []);
      assert.equal(await uploading(owner), 0);
    });
  }
});
