/** What the browser is given for `/local/…`: parts of the page's worker that run in Node as well. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { nodeEngine, PIECE_SIZE, type RemoteFile } from '@szafa/client/node';
import { fromBase64Url, layoutWith } from '@szafa/format';
import type { FileVector } from '../../format/vectors/kinds.ts';
import { runFile } from '../../format/vectors/vectors.ts';
import type { LocalPart, LocalRequest } from '../../web/src/core/bridge/messages.ts';
import { answerTo, serveFile, serveZip } from '../../web/src/transfers/outlet.worker.ts';
import { zippedFiles } from '../../web/src/transfers/zip/zipped-files.worker.ts';

const HARMLESS = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";
const engine = nodeEngine({ threads: 1 });
after(() => engine.close());

/** As much of a file as the head of an answer depends on. */
const file = (name: string, type?: string, size = 100, volumeSize = 40) =>
  ({
    metadata: { name, type, size },
    layout: layoutWith({ volumeSize, lateVolumeSize: volumeSize }, size),
  }) as unknown as RemoteFile;

const show = (range: string | null = null): LocalRequest => ({ range, attachment: false });
const save: LocalRequest = { range: null, attachment: true };

test('whatever is shown or saved has no powers here, and is what its type says', () => {
  for (const [name, type, shown] of [
    ['drawing.svg', undefined, 'image/svg+xml'],
    ['drawing', 'image/svg+xml', 'image/svg+xml'],
    ['page.html', 'text/html', 'text/plain'],
    ['page.html', undefined, 'text/plain'],
    ['page.xhtml', 'application/xhtml+xml', 'application/octet-stream'],
    ['film.mp4', undefined, 'video/mp4'],
    ['thing', 'text/javascript;x', 'text/plain'],
    ['thing', undefined, 'application/octet-stream'],
  ] as const) {
    const { head } = answerTo(file(name, type), show());
    assert.deepEqual(head, {
      status: 200,
      headers: {
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'content-type': shown,
        'content-disposition': `inline; filename*=UTF-8''${name}`,
        'accept-ranges': 'bytes',
        'content-security-policy': HARMLESS,
        'content-length': '100',
      },
    });
  }
  // A sandbox would keep the browser's viewer from starting.
  const { headers } = answerTo(file('paper.pdf'), show()).head;
  assert.deepEqual(
    [headers['content-type'], headers['x-content-type-options'], headers['content-security-policy']],
    ['application/pdf', 'nosniff', undefined],
  );
});

test('what is saved is no document, under a name that is a name', () => {
  for (const [name, saved] of [
    ['a/b/drawing.svg', 'drawing.svg'],
    ["it's (żółw)*.txt", 'it%27s%20%28%C5%BC%C3%B3%C5%82w%29%2a.txt'],
    ['../..', 'unnamed'],
    ['x"\r\nset-cookie: y', 'x%22%EF%BF%BD%EF%BF%BDset-cookie%3A%20y'],
  ] as const) {
    const { head } = answerTo(file(name, 'image/svg+xml'), { ...save, range: 'bytes=0-1' });
    assert.equal(head.status, 200, 'a download is whole');
    assert.deepEqual(head.headers, {
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename*=UTF-8''${saved}`,
      'content-security-policy': HARMLESS,
      'content-length': '100',
    });
  }
});

test('a range gets no more than the rest of its volume', () => {
  for (const [range, from, to] of [
    ['bytes=0-', 0, 40],
    ['bytes=0-9', 0, 10],
    ['bytes=39-39', 39, 40],
    ['bytes=40-99', 40, 80],
    ['bytes=80-1000', 80, 100],
    ['bytes=99-', 99, 100],
    ['bytes=-5', 95, 100],
    ['bytes=-500', 0, 40],
  ] as const) {
    const answer = answerTo(file('f'), show(range));
    assert.deepEqual([answer.head.status, answer.from, answer.to], [206, from, to], range);
    assert.equal(answer.head.headers['content-range'], `bytes ${from}-${to - 1}/100`);
    assert.equal(answer.head.headers['content-length'], String(to - from));
  }
  for (const range of ['bytes=100-', 'bytes=-0']) {
    const { head } = answerTo(file('f'), show(range));
    assert.deepEqual(head, { status: 416, headers: { 'content-range': 'bytes */100' } }, range);
  }
  for (const range of ['bytes=0-1,5-6', 'lines=1-2', 'bytes=-', 'bytes=5-4']) {
    assert.equal(answerTo(file('f'), show(range)).head.status, 200, range);
  }
});

const vectors = JSON.parse(
  readFileSync(new URL('../../format/vectors/files.json', import.meta.url), 'utf8'),
) as FileVector[];

/** Memory that is told from what the outlet makes itself. */
const OWN_SIZE = PIECE_SIZE + 1;

const served = (remote: RemoteFile, request: LocalRequest, most?: number) =>
  asked((port, signal) => serveFile(remote, request, port, signal, () => {}), most);

/** Asks for parts until the end, or `most` of them, each but the first to come in memory of ours. */
async function asked(serve: (port: MessagePort, signal: AbortSignal) => Promise<void>, most = 100) {
  const { port1, port2 } = new MessageChannel();
  const serving = serve(port1, new AbortController().signal);
  serving.catch(() => {}); // awaited by the caller
  const chunks: Uint8Array[] = [];
  const last = await new Promise<LocalPart>((resolve) => {
    port2.onmessage = ({ data }: MessageEvent<LocalPart>) => {
      if ('chunk' in data) chunks.push(data.chunk);
      if ('end' in data || 'error' in data) resolve(data);
      else if (chunks.length >= most) port2.postMessage('cancel');
      else if (chunks.length === 0) port2.postMessage({ memory: undefined });
      else {
        const memory = new ArrayBuffer(OWN_SIZE);
        port2.postMessage({ memory }, [memory]);
      }
      if (chunks.length >= most) resolve(data);
    };
  });
  return { last, chunks, bytes: Buffer.concat(chunks), serving };
}

test('a file is handed over part by part, to its end or to where the browser stops', {
  timeout: 180_000,
}, async () => {
  const good = vectors.find(({ expect, volumes }) => 'plain' in expect && volumes.length > 2)!;
  const outcome = await runFile(engine, good, async (remote) => {
    const plain = fromBase64Url((good.expect as { plain: string }).plain);
    const whole = await served(remote, save);
    assert.deepEqual([whole.last, whole.bytes], [{ end: true }, Buffer.from(plain)]);
    await whole.serving;
    const part = await served(remote, show('bytes=3-6'));
    assert.deepEqual(part.bytes, Buffer.from(plain.slice(3, 7)));
    await part.serving;
    await assert.rejects((await served(remote, save, 1)).serving, { code: 'refused' });
    return plain;
  });
  assert.deepEqual(outcome, good.expect);
});

test('memory that comes back is filled again', async () => {
  async function* pieces() {
    for (let at = 1; at <= 5; at++) yield new Uint8Array(PIECE_SIZE / 2).fill(at);
  }
  const { chunks, serving } = await asked((port, signal) => serveZip('all.zip', pieces, port, signal));
  await serving;
  const found = chunks.map((chunk) => [chunk.buffer.byteLength, chunk.length, chunk[0], chunk.at(-1)]);
  assert.deepEqual(found, [
    [PIECE_SIZE, PIECE_SIZE, 1, 2],
    [OWN_SIZE, PIECE_SIZE, 3, 4],
    [OWN_SIZE, PIECE_SIZE / 2, 5, 5],
  ]);
});

test('a file that is not what was declared ends with an error, not as if it were whole', async () => {
  const bad = vectors.find(({ name }) => name === 'digest-total')!;
  const outcome = await runFile(engine, bad, async (remote) => {
    const { last, serving } = await served(remote, save);
    assert.ok('error' in last);
    await serving;
    return new Uint8Array(0);
  });
  assert.deepEqual(outcome, { code: 'tampered', stage: 'digests' });
});

test('of a volume that somebody else sealed with the file key no byte is saved, shown or zipped', async () => {
  const { expect } = vectors.find(({ name }) => name === 'good-150')!;
  const plain = Buffer.from(fromBase64Url((expect as { plain: string }).plain));
  const forged = plain.map((byte) => byte ^ 0xff);
  for (const idx of [1, 2, 3]) {
    const vector = vectors.find(({ name }) => name === `digest-forged-${idx}`)!;
    await runFile(engine, vector, async (remote) => {
      const saved = await served(remote, save);
      assert.ok('error' in saved.last);
      assert.deepEqual(saved.bytes, plain.subarray(0, saved.bytes.length));
      await assert.rejects(saved.serving, { stage: 'digest' });
      remote.metadata.shared = true;
      for (const at of [1, 2, 3]) {
        const from = (at - 1) * 64;
        const shown = await served(remote, show(`bytes=${from + 5}-${from + 9}`));
        if (at === idx) await assert.rejects(shown.serving, { stage: 'digest' });
        else await shown.serving;
        assert.deepEqual(shown.bytes, at === idx ? Buffer.alloc(0) : plain.subarray(from + 5, from + 10));
      }
      const zipped: Uint8Array[] = [];
      const wish = { name: 'all.zip', parts: [{ fileId: 'f', path: 'f' }] };
      const packing = async () => {
        const { signal } = new AbortController();
        const pieces = zippedFiles(
          wish,
          async () => remote,
          signal,
          () => {},
          () => {},
        );
        for await (const piece of pieces) zipped.push(piece.slice());
      };
      await assert.rejects(packing(), { stage: 'digest' });
      const packed = Buffer.concat(zipped);
      const start = (idx - 1) * 64;
      assert.ok(!packed.includes(forged.subarray(start, start + 8)));
      return new Uint8Array(0);
    });
  }
});
