import assert from 'node:assert/strict';
import { pathOf } from '@szafa/protocol';
import {
  type Answer,
  type Call,
  eventually,
  makeFile,
  register,
  type Service,
  sha256,
  type User,
  upload,
  volumeName,
} from '../harness/index.ts';
import type { Nginx } from './nginx.ts';

/** The largest enc_params there may be: 12 KiB of base64. */
const LONG_PARAMS = { k: 'x'.repeat(9 * 1024 - '{"k":""}'.length) };
const SIZE = 1000;
const LARGE = 3_000_000;

interface Case {
  name: string;
  call: Call;
  /** Whether nginx sends the bytes; otherwise the node answers. */
  sentByNginx: boolean;
}

/** A file, its owner and a stranger. */
export interface Stage {
  owner: User;
  stranger: User;
  fileId: string;
  volumes: Buffer[];
}

export async function setStage(service: Service): Promise<Stage> {
  const [owner, stranger] = [await register(service), await register(service)];
  const { fileId, file } = await upload(owner, makeFile([SIZE, 0, LARGE], { enc_params: LONG_PARAMS }));
  return { owner, stranger, fileId, volumes: file.volumes };
}

/** Everything that a GET may be asked with, right or wrong. */
export function cases({ owner, stranger, fileId, volumes }: Stage, kind: 'folder' | 's3'): Case[] {
  const path = (idx: number | string, id = fileId) => pathOf('readVolume', { file_id: id, idx });
  const tag = `"${sha256(volumes[0]!)}"`;
  const group = kind === 'folder' ? fileId.slice(0, 2) : 'bucket/volumes';
  const inside = `szafa-${kind}/${group}/${fileId}/${volumeName(1, volumes[0]!)}`;
  const get = (headers: Record<string, string> = {}, idx: number | string = 1): Call => ({
    path: path(idx),
    token: owner.token,
    headers,
  });
  const byNginx: [string, Call][] = [
    ['a volume', get()],
    ['an empty volume', get({}, 2)],
    ['a large volume', get({}, 3)],
    ...['0-0', '10-19', '990-', '0-', '500-5000', '-5', '-1000', '-5000'].map((range): [string, Call] => [
      `bytes=${range}`,
      get({ range: `bytes=${range}` }),
    ]),
    ['a range of a large volume', get({ range: 'bytes=1000000-2999998' }, 3)],
    [
      'headers that are only for nginx',
      get({ 'x-accel-redirect': `/szafa-${kind}/x`, 'x-accel-expires': '9' }),
    ],
    ['an offer of the client', get({ 'x-szafa-accel': kind === 's3' ? 'folder' : 's3' })],
    ['a range only for nginx', get({ 'x-szafa-range': 'bytes=0-1' })],
  ];
  const byNode: [string, Call][] = [
    ...['1000-', '-0', '0-1,3-4', '0-1, -1', '5-2', 'abc', '', ' 0-1', '9999999999999999999999-'].map(
      (range): [string, Call] => [`bytes=${range}`, get({ range: `bytes=${range}` })],
    ),
    ['a range of another unit', get({ range: 'items=0-1' })],
    ['a range of an empty volume', get({ range: 'bytes=0-' }, 2)],
    ['HEAD', { ...get(), method: 'HEAD' }],
    ['HEAD with a range', { ...get({ range: 'bytes=0-1' }), method: 'HEAD' }],
    ['If-None-Match, the same', get({ 'if-none-match': tag })],
    ['If-None-Match, another', get({ 'if-none-match': '"other"' })],
    ['If-Match', get({ 'if-match': '"other"' })],
    ['If-Range, the same', get({ 'if-range': tag, range: 'bytes=10-19' })],
    ['If-Range, another', get({ 'if-range': '"other"', range: 'bytes=10-19' })],
    ['If-Modified-Since', get({ 'if-modified-since': new Date(Date.now() + 86_400_000).toUTCString() })],
    ['If-Unmodified-Since', get({ 'if-unmodified-since': new Date(0).toUTCString() })],
    ['a volume beyond the last', get({}, 4)],
    ['a volume of no number', get({}, '%2e%2e%2f1')],
    ['an unknown file', { path: path(1, 'nosuchfile0123456789'), token: owner.token }],
    ["a stranger's token", { path: path(1), token: stranger.token }],
    ["a stranger's token and an offer", { ...get({ 'x-szafa-accel': kind }), token: stranger.token }],
    ['no token', { path: path(1) }],
    ['no token and an offer', { path: path(1), headers: { 'x-szafa-accel': kind } }],
    ['a wrong token', { path: path(1), token: 'x'.repeat(43) }],
    ...['/', '//', '/./', '/api/../', '/x/%2E%2e/', '/api/files/..%2f../', 'http://szafa.example/'].map(
      (way): [string, Call] => [
        `the location that is only for nginx, by ${way}`,
        { path: `${way}${inside}` },
      ],
    ),
    ['the same with a token', { path: `/${inside}`, token: owner.token }],
    ['the same, encoded', { path: `/%73zafa-${inside.slice('szafa-'.length)}` }],
  ];
  return [
    ...byNginx.map(([name, call]) => ({ name, call, sentByNginx: true })),
    ...byNode.map(([name, call]) => ({ name, call, sentByNginx: false })),
  ];
}

/** The same request through nginx that sends volumes itself and through one that does not: nobody can tell the answers apart. */
export async function compare(service: Service, accelerated: Nginx, plain: Nginx, one: Case): Promise<void> {
  const [found, expected] = [await accelerated.call(one.call), await plain.call(one.call)];
  assert.equal(found.status, expected.status, one.name);
  assert.ok(found.body.equals(expected.body), `${one.name}: other bytes`);
  assert.deepEqual(linesOfHead(found), linesOfHead(expected), one.name);
  assert.equal(await wasHandedOver(service, found), one.sentByNginx, `${one.name}: sent by the other one`);
  assert.equal(await wasHandedOver(service, expected), false);
}

/** What the node's log says of a request: its last answer was that nginx is to send the volume. */
export async function wasHandedOver(service: Service, { headers }: Answer): Promise<boolean> {
  return (await linesOf(service, headers)).at(-1)?.accel === true;
}

/** What the node logged of a request, line by line. */
export async function linesOf(
  service: Service,
  headers: Answer['headers'],
  count = 1,
): Promise<{ status: number; accel?: boolean }[]> {
  const mark = `"reqId":"${headers['x-request-id']}"`;
  const find = () => service.log.split('\n').filter((line) => line.includes(mark));
  await eventually(async () => assert.ok(find().length >= count, `${mark}: ${find().length} lines`));
  return find().map((line) => JSON.parse(line));
}

/** Each header as often as it came; without the values that no two answers share. */
function linesOfHead({ rawHeaders }: Answer): string[] {
  return rawHeaders
    .flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), rawHeaders[at + 1]]] : []))
    .map(([name, value]) => (name === 'date' || name === 'x-request-id' ? name : `${name}: ${value}`))
    .sort() as string[];
}
