/** What an owner keeps beside shares and requests, made from docs/format.md with Node's own primitives and nothing of the client. */
import type { OwnVector } from './own-vectors.ts';
import { b64, fixedFor, hex, seal } from './writer-cases.ts';

const drawn = fixedFor('owns');
const masters = [7, 4, 1].map((epoch) => ({ epoch, key: hex(drawn(`master ${epoch}`, 32)) }));
const id = b64(drawn('id', 16));
const r = drawn('r', 24);
const LABEL = 'szafa/v1/own-share/';

interface Parts {
  epoch?: number;
  /** What the first four bytes say, where that is another one. */
  says?: number;
  label?: string;
  text?: string;
}

function ownOf(json: unknown, { epoch = 7, says = epoch, label = LABEL + id, text }: Parts = {}): Buffer {
  const plain = Buffer.from(text ?? JSON.stringify(json));
  const blanks = Buffer.alloc((256 - (plain.length % 256)) % 256, ' ');
  const head = Buffer.alloc(4);
  head.writeUInt32BE(says);
  const { key } = masters.find((master) => master.epoch === epoch)!;
  return Buffer.concat([head, seal(Buffer.from(key, 'hex'), label, Buffer.concat([plain, blanks]), r)]);
}

const link = {
  ...{ kind: 'link', key: b64(Buffer.concat([drawn('secret', 32), drawn('digest', 16)])), title: 'zdjęcia' },
  ...{ note: 'Dla Ciebie 🐢', passphrase: true, size: 123_456 },
};
const account = { kind: 'account', to: 'Zofia_9', title: 'raport.txt', passphrase: false, size: 5 };
const request = {
  ...{ kind: 'request', key: b64(Buffer.concat([drawn('psk', 32), drawn('digest of the header', 32)])) },
  ...{ folder: 'od gości/2026', note: 'do piątku' },
};
const known = ({ kind: _kind, ...rest }: Record<string, unknown>) => rest;

type Beside = OwnVector['beside'];
const vector = (
  beside: Beside,
  name: string,
  about: string,
  own: Uint8Array,
  expect: OwnVector['expect'],
  more: Partial<OwnVector> = {},
): OwnVector => ({ name: `${beside}-${name}`, about, beside, masters, id, own: b64(own), expect, ...more });

function good(beside: Beside, name: string, about: string, text: Record<string, unknown>, epoch = 7) {
  const expect = beside === 'share' ? text : known(text);
  const written = { epoch, text, random: hex(r) };
  return vector(beside, name, about, ownOf(text, { epoch }), expect, { written });
}

const tampered = (stage: string) => ({ code: 'tampered', stage });
const unsupported = { code: 'unsupported' };
const without = (json: object, key: string) => ({ ...json, [key]: undefined });
const flipped = (bytes: Buffer, at: number) => {
  const copy = Buffer.from(bytes);
  copy[at < 0 ? copy.length + at : at]! ^= 1;
  return copy;
};

/** The same faults beside both. */
const faults = (beside: Beside, json: Record<string, unknown>): OwnVector[] => {
  const bad = (name: string, about: string, own: Uint8Array, expect: OwnVector['expect']) =>
    vector(beside, name, about, own, expect);
  const whole = ownOf(json);
  return [
    bad(
      'other-id',
      'of another one',
      ownOf(json, { label: LABEL + b64(drawn('other', 16)) }),
      tampered('share'),
    ),
    bad('no-id', 'without the id in the label', ownOf(json, { label: LABEL }), tampered('share')),
    bad('random', 'another bit in r', flipped(whole, 4), tampered('share')),
    bad('tag', 'another bit in the tag', flipped(whole, -1), tampered('share')),
    bad('cut', 'too short for a seal', whole.subarray(0, 75), tampered('share')),
    bad('empty', 'nothing', Buffer.alloc(0), tampered('share')),
    bad('epoch-other', 'the epoch of another master key', ownOf(json, { says: 4 }), tampered('share')),
    bad('epoch-unknown', 'the epoch of no master key', ownOf(json, { says: 9 }), tampered('epoch')),
    bad('text', 'not JSON', ownOf(json, { text: 'kind' }), tampered('share')),
    bad(
      'text-bom',
      'a byte order mark',
      ownOf(json, { text: `\ufeff${JSON.stringify(json)}` }),
      tampered('share'),
    ),
    bad('text-array', 'an array', ownOf([json]), tampered('share')),
    bad('kind', 'a kind that nobody knows yet', ownOf({ ...json, kind: 'later' }), unsupported),
    bad('kind-none', 'no kind', ownOf(without(json, 'kind')), unsupported),
    bad('key', 'a key that is none', ownOf({ ...json, key: String(json['key']).slice(1) }), unsupported),
  ];
};

const requestOf = (epoch: number) => ownOf(request, { epoch });

export const owns: OwnVector[] = [
  good('share', 'good-link', 'of a link', link),
  good('share', 'good-account', 'of a share with an account', account),
  good('share', 'good-earlier', 'under an earlier master key', link, 4),
  { ...good('share', 'good-floor', 'under the earliest that is not retired', link, 4), floor: 4 },
  vector('share', 'retired', 'below the floor', ownOf(link, { epoch: 1 }), tampered('epoch'), { floor: 4 }),
  vector('share', 'good-more', 'a key that nobody knows yet', ownOf({ ...link, more: 1 }), link),
  vector('share', 'good-surrogate', 'a lone surrogate', ownOf({ ...link, title: 'a\ud800' }), {
    ...link,
    title: 'a\ufffd',
  }),
  vector('share', 'title-none', 'no title', ownOf(without(link, 'title')), unsupported),
  vector('share', 'to-none', 'an account without a name', ownOf(without(account, 'to')), unsupported),
  vector('share', 'of-request', 'what belongs beside a request', ownOf(request), unsupported),
  ...faults('share', link),
  good('request', 'good', 'of a request', request),
  good('request', 'good-top', 'for the top, without a note', {
    ...{ kind: 'request', key: request.key, folder: '' },
  }),
  vector('request', 'retired', 'below the floor', requestOf(1), tampered('epoch'), { floor: 4 }),
  vector(
    ...(['request', 'good-retired-ended', 'below the floor, of a request that is over: no link'] as const),
    requestOf(1),
    { folder: request.folder, note: request.note },
    { floor: 4, ended: true },
  ),
  vector('request', 'folder-none', 'no folder', ownOf(without(request, 'folder')), unsupported),
  vector('request', 'of-share', 'what belongs beside a share', ownOf(link), unsupported),
  ...faults('request', request),
];
