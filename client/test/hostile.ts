/** A service behind a hostile proxy, a file under attack, and what the proxy may change of it. */

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { fromBase64Url, fromUtf8, toBase64Url, utf8 } from '@szafa/format';
import { encodeEncParams, type FileRecord } from '@szafa/protocol';
import { bytesSource, Szafa } from '../src/index.ts';
import { downloadToFile, fileJournal } from '../src/node/index.ts';
import { readVolume } from '../src/transfers/calls.ts';
import { type HostileProxy, type Hostility, isVolume, type Passing, startProxy, volumeOf } from './proxy.ts';
import {
  content,
  engine,
  newUser,
  optionsFor,
  type Service,
  sameUser,
  startService,
  transport,
} from './service.ts';

export const SIZE = 1000;
export let service: Service;
export let proxy: HostileProxy;
export let szafa: Szafa;
/** The file under attack, an earlier upload of the same bytes, and a file of somebody else. */
export let file: FileRecord;
export let earlier: FileRecord;
export let foreign: FileRecord;
export let stranger: Szafa;

before(async () => {
  service = await startService();
  proxy = await startProxy(service.url);
  szafa = await newUser(service.url);
  const other = { username: `stranger_${process.pid}`, password: 'another password' };
  stranger = await Szafa.register(optionsFor(service.url), other);
  const options = { path: 'target', volumeSize: SIZE };
  await szafa.upload(bytesSource(content(3 * SIZE)), options);
  await szafa.upload(bytesSource(content(3 * SIZE)), options);
  await stranger.upload(bytesSource(content(3 * SIZE)), options);
  [file, earlier] = (await szafa.list()).map(({ record }) => record) as [FileRecord, FileRecord];
  [foreign] = (await stranger.list()).map(({ record }) => record) as [FileRecord];
});
after(async () => {
  await proxy.stop();
  await service.stop();
  transport.close();
  await engine.close();
});

export interface Refusal {
  code: string;
  stage?: string;
}

/** A download through the hostile server: refused, nothing on disk, nothing sent that was not asked before. */
export async function refused(hostility: Hostility, refusal: Refusal, withRecord = true): Promise<void> {
  proxy.hostility = hostility;
  proxy.requests.length = 0;
  const folder = mkdtempSync(join(service.folder, 'out-'));
  const user = await sameUser(szafa, proxy.url);
  const journal = fileJournal(join(service.folder, 'journal'));
  const download = async () => {
    const remote = await user.openFile(file.file_id, withRecord ? { record: file } : {});
    await downloadToFile(remote, join(folder, 'target'), { journal });
  };
  await assert.rejects(download(), refusal);
  assert.deepEqual(readdirSync(folder), []);
  assert.ok(proxy.requests.every(({ method, sent }) => /GET|HEAD/.test(method) && sent.length === 0));
  proxy.hostility = () => undefined;
}

export const onVolume =
  (idx: number | 'all', change: (passing: Passing) => Partial<Passing>): Hostility =>
  (passing) =>
    isVolume(passing.path) && passing.method === 'GET' && (idx === 'all' || volumeOf(passing.path) === idx)
      ? change(passing)
      : undefined;

export const onHeader =
  (change: (params: Record<string, unknown>) => object): Hostility =>
  ({ path, headers }) => {
    if (!isVolume(path)) return undefined;
    const params = JSON.parse(Buffer.from(String(headers['x-enc-params']), 'base64').toString());
    return { headers: { ...headers, 'x-enc-params': encodeEncParams(change(params)) } };
  };

export function flipped(bytes: Uint8Array, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at < 0 ? copy.length + at : at]! ^= 0x10;
  return copy;
}

/** The header text changed, as somebody without the key could: the MAC stays. */
export const inHeader = (change: (json: Record<string, unknown>) => object) =>
  onHeader((params) => {
    const json = JSON.parse(fromUtf8(fromBase64Url(params['header'] as string)));
    return { ...params, header: toBase64Url(utf8(JSON.stringify(change(json)))) };
  });

/** A volume of another file, fetched as the owner of it. */
export async function volume(owner: Szafa, record: FileRecord, idx: number) {
  const answer = await readVolume(owner.api, record.file_id, idx, 2 ** 20);
  return { ...answer, body: Buffer.from(answer.body) };
}
