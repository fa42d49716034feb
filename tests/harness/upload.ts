import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import {
  type CompleteBody,
  contentDigest,
  type FileRecord,
  headers as headerNames,
  type InitBody,
  pathOf,
  type StreamedInitBody,
  toBase64,
} from '@szafa/protocol';
import type { Answer } from './http.ts';
import type { Service } from './service.ts';
import { freshName, User } from './user.ts';

/** A file with random content and the init body for it. */
export interface MadeFile {
  volumes: Buffer[];
  init: InitBody;
}

export function sha256(...parts: Uint8Array[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
}

/** A number that a double cannot represent: code that parses and serializes enc_params would change it. */
const { rawJSON } = JSON as unknown as { rawJSON(text: string): object };
const rawNumber = rawJSON('9007199254740993');
export const ENC_PARAMS = '{"exact":9007199254740993}';

/** Returns the name of a volume in the store. */
export const volumeName = (idx: number, bytes: Uint8Array) => `${idx}-${sha256(bytes)}`;

/** Creates a file with volumes of the given sizes. `init` overrides keys of the init body. */
export function makeFile(sizes: number[] = [1000], init: Partial<InitBody> = {}): MadeFile {
  const volumes = sizes.map((size) => randomBytes(size));
  return {
    volumes,
    init: {
      file_name: `f ${freshName()}`,
      file_size: sizes.reduce((sum, size) => sum + size, 0),
      total_sha256: sha256(...volumes),
      chunk_count: sizes.length,
      chunks: volumes.map((bytes) => ({ size: bytes.length, sha256: sha256(bytes) })),
      enc_params: { exact: rawNumber },
      ...init,
    },
  };
}

export async function begin(user: User, file: MadeFile): Promise<string> {
  const answer = await user.post(pathOf('init'), file.init);
  assert.equal(answer.status, 200, answer.text);
  return String(answer.json['transfer_id']);
}

export function putVolume(
  user: User,
  transferId: string,
  idx: number | string,
  body: Uint8Array | AsyncIterable<Uint8Array>,
  headers: Record<string, string> = { 'content-type': 'application/octet-stream' },
): Promise<Answer> {
  return user.call('PUT', pathOf('writeVolume', { transfer_id: transferId, idx }), { body, headers });
}

export async function putAll(user: User, transferId: string, file: MadeFile): Promise<void> {
  for (const [position, bytes] of file.volumes.entries()) {
    const answer = await putVolume(user, transferId, position + 1, bytes);
    assert.equal(answer.status, 200, answer.text);
  }
}

export function complete(user: User, transferId: string): Promise<Answer> {
  return user.call('POST', pathOf('complete', { transfer_id: transferId }));
}

/** Whether the init of a streamed transfer declares the sizes of the volumes. */
export type Length = 'sized' | 'unsized';

export function streamedInit({ init }: MadeFile, length: Length): StreamedInitBody {
  const { chunk_count, dir_id } = init;
  const chunks = init.chunks.map(({ size }) => ({ size }));
  const dir = dir_id === undefined ? {} : { dir_id };
  return { streamed: true, ...(length === 'sized' && { chunk_count, chunks }), ...dir };
}

export async function beginStreamed(user: User, file: MadeFile, length: Length): Promise<string> {
  const answer = await user.post(pathOf('init'), streamedInit(file, length));
  assert.equal(answer.status, 200, answer.text);
  return String(answer.json['transfer_id']);
}

/** Sends a volume with its digest, or with a given one. */
export function putStreamed(
  user: User,
  transferId: string,
  idx: number | string,
  body: Uint8Array,
  digest: string = contentDigest(sha256(body)),
): Promise<Answer> {
  return putVolume(user, transferId, idx, body, { [headerNames.contentDigest]: digest });
}

/** Returns the body of complete for a streamed transfer. */
export function completeBody({ init }: MadeFile, over: Partial<CompleteBody> = {}): CompleteBody {
  const { file_name, file_size, total_sha256, enc_params, chunk_count } = init;
  return { file_name, file_size, total_sha256, enc_params, chunk_count, ...over };
}

export function completeStreamed(
  user: User,
  transferId: string,
  file: MadeFile,
  over?: Partial<CompleteBody>,
): Promise<Answer> {
  return user.post(pathOf('complete', { transfer_id: transferId }), completeBody(file, over));
}

export async function uploadStreamed(user: User, file: MadeFile, length: Length): Promise<Uploaded> {
  const transferId = await beginStreamed(user, file, length);
  for (const [at, bytes] of file.volumes.entries()) {
    const answer = await putStreamed(user, transferId, at + 1, bytes);
    assert.equal(answer.status, 200, answer.text);
  }
  const answer = await completeStreamed(user, transferId, file);
  assert.equal(answer.status, 200, answer.text);
  return { fileId: String(answer.json['file_id']), transferId, file };
}

/** Uploads a small file in one request, with a transfer ID chosen by the client. */
export function putFile(
  user: User,
  transferId: string,
  { init, volumes }: MadeFile,
  headers: Record<string, string> = { [headerNames.init]: toBase64(JSON.stringify(init)) },
): Promise<Answer> {
  return user.call('PUT', pathOf('writeFile', { transfer_id: transferId }), { body: volumes[0]!, headers });
}

/** A file of one volume with its transfer ID. `over` overrides fields in the first line of the batch. */
export interface Batched {
  id: string;
  file: MadeFile;
  over?: Record<string, unknown>;
}

export const batched = (file: MadeFile, over?: Record<string, unknown>): Batched => ({
  id: newTransferId(),
  file,
  ...(over && { over }),
});

/** Builds the body for several small files in one request. */
export function filesBody(files: Batched[]): Buffer {
  const head = files.map(({ id, file: { init, volumes }, over }) => {
    return { transfer_id: id, init: toBase64(JSON.stringify(init)), size: volumes[0]!.length, ...over };
  });
  const line = Buffer.from(`${JSON.stringify({ files: head })}\n`);
  return Buffer.concat([line, ...files.map(({ file }) => file.volumes[0]!)]);
}

export function putFiles(user: User, files: Batched[]): Promise<Answer> {
  return user.call('POST', pathOf('writeFiles'), { body: filesBody(files) });
}

/** Returns the answers for the files of a batch. */
export const answersIn = ({ json }: Answer) =>
  json['files'] as { status: number; file_id?: string; error?: string }[];

export const newTransferId = () => randomBytes(20).toString('base64url');

export interface Uploaded {
  fileId: string;
  transferId: string;
  file: MadeFile;
}

/** Uploads a file with init, one PUT per volume, and complete. */
export async function upload(user: User, file: MadeFile = makeFile()): Promise<Uploaded> {
  const transferId = await begin(user, file);
  await putAll(user, transferId, file);
  const answer = await complete(user, transferId);
  assert.equal(answer.status, 200, answer.text);
  return { fileId: String(answer.json['file_id']), transferId, file };
}

/** Uploads a file as a visitor with the link of a file request. */
export async function deliver(
  service: Service,
  { id, access }: { id: string; access: string },
  file: MadeFile,
): Promise<Uploaded> {
  const token = randomBytes(32).toString('base64url');
  const chunks = file.init.chunks.map(({ size }) => ({ size }));
  const begun = await service.call({
    ...{ method: 'POST', path: pathOf('beginUpload', { request_id: id }) },
    headers: { [headerNames.shareAccess]: access },
    json: { upload_token: token, chunk_count: chunks.length, chunks },
  });
  assert.equal(begun.status, 200, begun.text);
  const [visitor, transferId] = [new User(service, '', '', token), String(begun.json['transfer_id'])];
  for (const [at, bytes] of file.volumes.entries())
    assert.equal((await putStreamed(visitor, transferId, at + 1, bytes)).status, 200);
  const done = await completeStreamed(visitor, transferId, file);
  assert.equal(done.status, 200, done.text);
  return { fileId: String(done.json['file_id']), transferId, file };
}

export async function received(user: User, transferId: string): Promise<unknown> {
  const answer = await user.get(pathOf('received', { transfer_id: transferId }));
  assert.equal(answer.status, 200, answer.text);
  return answer.json['received'];
}

export function readVolume(
  user: User,
  fileId: string,
  idx: number | string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return user.get(pathOf('readVolume', { file_id: fileId, idx }), { headers });
}

/** Asserts that the content of the file and its enc_params are unchanged. */
export async function assertReadable(user: User, fileId: string, file: MadeFile): Promise<void> {
  for (const [position, bytes] of file.volumes.entries()) {
    const answer = await readVolume(user, fileId, position + 1);
    assert.equal(answer.status, 200, answer.excerpt);
    assert.ok(answer.body.equals(bytes), `volume ${position + 1} of ${fileId} has other bytes`);
    const params = Buffer.from(String(answer.headers['x-enc-params']), 'base64').toString();
    assert.equal(params, JSON.stringify(file.init.enc_params));
  }
}

export async function listFiles(user: User, query = ''): Promise<FileRecord[]> {
  const answer = await user.get(`${pathOf('listFiles')}${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.json['files'] as FileRecord[];
}
