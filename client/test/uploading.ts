/** Helpers for tests of uploads. */
import assert from 'node:assert/strict';
import { bytesSource, type Source, type Szafa, type Transport, type UploadOptions } from '../src/index.ts';
import { fileSource } from '../src/node/index.ts';
import { receivedNumbers } from '../src/transfers/calls.ts';
import { readAll, sameUser, transport } from './service.ts';

export const SIZE = 1000;
export const VOLUMES = 5;

export async function read(szafa: Szafa, fileId: string): Promise<Uint8Array> {
  return readAll((await szafa.openFile(fileId)).stream());
}

/** Bytes that count as the same file, whatever they are. */
export const samePlace = (bytes: Uint8Array): Source => ({
  ...bytesSource(bytes),
  identity: 'one',
  place: 'one',
});

/** A file on disk that is closed at the end of its block. */
export async function openSource(path: string) {
  const source = await fileSource(path);
  return Object.assign(source, { [Symbol.asyncDispose]: () => source.close() });
}

/** Asserts that the server has no such transfer. */
export const assertGone = ({ api }: Szafa, transferId: string) =>
  assert.rejects(receivedNumbers(api, transferId), { status: 404 });

/** Uploads until the service has the first two volumes; the id of the transfer that is left. */
export async function cutOff(szafa: Szafa, path: string, options: UploadOptions): Promise<string> {
  const stop = new AbortController();
  let transferId = '';
  const cutting: Transport = (request) => {
    const third = /transfer\/([^/]+)\/chunk\/3$/.exec(request.url);
    if (third) {
      transferId = third[1]!;
      stop.abort(new Error('enough'));
    }
    return transport(request);
  };
  await using source = await openSource(path);
  const user = await sameUser(szafa, szafa.api.server, { transport: cutting });
  await assert.rejects(user.upload(source, { ...options, parallel: 1, signal: stop.signal }), /enough/);
  assert.deepEqual(await receivedNumbers(szafa.api, transferId), [1, 2]);
  return transferId;
}
