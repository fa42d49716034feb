/** Requests and what visitors seal for them, made from docs/format.md with Node's own primitives and nothing of the client. */
import { type HpkeParts, hpke, publicOf } from './hpke-builder.ts';
import type { DeliveryVector, RequestFault, RequestVector } from './request-vectors.ts';
import type { LinkFileJson } from './share-vectors.ts';
import { b64, EMPTY, fixedFor, hex, hkdf, seal, sha256 } from './writer-cases.ts';

const drawn = fixedFor('requests');
const master = drawn('master', 32);
const idBytes = drawn('id', 16);
const id = b64(idBytes);
const serviceId = drawn('service', 16);
const r = drawn('r', 24);
const ephemeral = drawn('ephemeral', 32);

const keysOf = (from: Uint8Array) => {
  const derived = hkdf(from, idBytes, 'szafa/v1/request', 64);
  return { secret: derived.subarray(0, 32), psk: derived.subarray(32) };
};
const { secret, psk } = keysOf(master);
const publicKey = publicOf(secret);
const access = b64(hkdf(psk, EMPTY, 'szafa/v1/request-access', 32));
const tampered = (stage: string): RequestFault => ({ code: 'tampered', stage });

const padded = (text: Uint8Array) =>
  Buffer.concat([text, Buffer.alloc((256 - (text.length % 256)) % 256, ' ')]);
const headerOf = (note?: Uint8Array, suite = 1) =>
  Buffer.concat([
    Uint8Array.of(suite),
    publicKey,
    note ? seal(psk, 'szafa/v1/request-note', padded(note), r) : EMPTY,
  ]);
const fragmentOf = (header: Uint8Array) => b64(Buffer.concat([psk, sha256(header)]));

function good(name: string, about: string, note?: string): RequestVector {
  const header = headerOf(note === undefined ? undefined : Buffer.from(note));
  return {
    ...{ kind: 'request', name, about, fragment: fragmentOf(header), header: b64(header) },
    written: { master: hex(master), id, random: note === undefined ? [] : [hex(r)] },
    expect: { access, public_key: b64(publicKey), ...(note !== undefined && { note }) },
  };
}

/** The link is whole: whoever made it made it so. */
const bad = (name: string, about: string, header: Uint8Array, expect: RequestFault): RequestVector => ({
  ...{ kind: 'request', name, about, fragment: fragmentOf(header), header: b64(header), expect },
});

const plain = good('good', 'a key, and nothing to say');
const noted = headerOf(Buffer.from('Zdjęcia z wesela 🐢'));
/** The header changed by the server: the fragment stays. */
const swapped = (name: string, about: string, header: Uint8Array): RequestVector => ({
  ...{
    kind: 'request',
    name,
    about,
    fragment: plain.fragment,
    header: b64(header),
    expect: tampered('request'),
  },
});
const flipped = (bytes: Uint8Array, at: number) => {
  const changed = Buffer.from(bytes);
  changed[at]! ^= 1;
  return changed;
};

const requests: RequestVector[] = [
  plain,
  good('good-note', 'with a note for visitors', 'Zdjęcia z wesela 🐢'),
  swapped(
    'swapped-key',
    "the server's own key",
    Buffer.concat([Uint8Array.of(1), publicOf(drawn('other', 32))]),
  ),
  swapped('swapped-suite', 'another suite', flipped(headerOf(), 0)),
  swapped('swapped-note', 'a note that the owner did not write', noted),
  swapped('swapped-cut', 'the header without its end', headerOf().subarray(0, -1)),
  swapped('swapped-empty', 'no header', EMPTY),
  bad('suite', 'another suite', headerOf(undefined, 2), { code: 'unsupported', stage: 'suite' }),
  bad('cut', 'a header that is too short for its note', noted.subarray(0, 33 + 71), tampered('request')),
  bad('cut-key', 'a header that is too short for its key', headerOf().subarray(0, 32), tampered('request')),
  bad('note', 'a note that was changed', flipped(noted, noted.length - 1), tampered('request')),
  bad('note-text', 'a note that is not UTF-8', headerOf(Buffer.from([0xff])), tampered('request')),
  ...['', plain.fragment.slice(0, -1), `${plain.fragment}A`, `${plain.fragment}=`].map(
    (fragment, at): RequestVector => ({
      ...{
        kind: 'request',
        name: `fragment-${at}`,
        about: 'what stands behind the # is no key of a request',
      },
      ...{ fragment, header: plain.header, expect: { code: 'fragment' } },
    }),
  ),
];

const file: LinkFileJson = {
  file_id: b64(drawn('file id', 16)),
  file_key: b64(drawn('file key', 32)),
  name: 'praca domowa.pdf',
  size: 150,
  volume_size: 64,
  volume_count: 3,
  total_sha256: hex(drawn('total', 32)),
  mtime: 1_767_225_600_000,
  type: 'application/pdf',
};

const rightPsk = {
  secret: hkdf(psk, EMPTY, 'szafa/v1/request-psk', 32),
  id: Buffer.from('szafa/v1/request-psk'),
};

function sealed(content: unknown, over: Partial<HpkeParts> = {}): Buffer {
  return hpke({
    ephemeral,
    recipient: publicKey,
    info: Buffer.concat([Buffer.from('szafa/v1/delivery\0'), serviceId, idBytes]),
    psk: rightPsk,
    plain: padded(Buffer.from(JSON.stringify(content))),
    ...over,
  });
}

const paramsOf = (bytes: Uint8Array) => ({ szafa_delivery: 1, sealed: b64(bytes) });
const delivery = (
  name: string,
  about: string,
  enc_params: unknown,
  expect: DeliveryVector['expect'] = tampered('delivery'),
): DeliveryVector => ({
  ...{ kind: 'delivery', name, about, service_id: hex(serviceId), id, master: hex(master) },
  ...{ enc_params, expect },
});
const whole = paramsOf(sealed(file));

const deliveries: DeliveryVector[] = [
  { ...delivery('delivery', 'a file of a visitor', whole, { file }), random: [hex(ephemeral)] },
  delivery(
    'delivery-later',
    'keys that this version does not know',
    paramsOf(sealed({ ...file, later: 1 })),
    { file },
  ),
  delivery(
    'delivery-path',
    'a name that is a path: it is told as it is, and cleaned by whoever takes it over',
    paramsOf(sealed({ ...file, name: '../../etc/passwd' })),
    { file: { ...file, name: '../../etc/passwd' } },
  ),
  delivery(
    'delivery-key',
    'sealed for another key',
    paramsOf(sealed(file, { recipient: publicOf(drawn('other', 32)) })),
  ),
  delivery(
    'delivery-psk',
    'by somebody who has the key but not the link',
    paramsOf(sealed(file, { psk: { ...rightPsk, secret: drawn('guess', 32) } })),
  ),
  delivery('delivery-no-psk', 'in base mode', paramsOf(sealed(file, { psk: undefined }))),
  delivery(
    'delivery-service',
    'for another service',
    paramsOf(
      sealed(file, {
        info: Buffer.concat([Buffer.from('szafa/v1/delivery\0'), drawn('elsewhere', 16), idBytes]),
      }),
    ),
  ),
  delivery(
    'delivery-request',
    'for another request',
    paramsOf(
      sealed(file, {
        info: Buffer.concat([Buffer.from('szafa/v1/delivery\0'), serviceId, drawn('another', 16)]),
      }),
    ),
  ),
  delivery('delivery-changed', 'a changed byte', paramsOf(flipped(sealed(file), 40))),
  delivery('delivery-short', 'too short to be one', paramsOf(sealed(file).subarray(0, 47))),
  delivery(
    'delivery-zeros',
    'an encapsulated key of small order',
    paramsOf(Buffer.concat([Buffer.alloc(32), sealed(file).subarray(32)])),
  ),
  delivery('delivery-base64', 'not base64url', { szafa_delivery: 1, sealed: 'a=' }),
  delivery('delivery-none', 'nothing sealed', { szafa_delivery: 1 }),
  delivery(
    'delivery-suite',
    'another suite',
    { ...whole, szafa_delivery: 2 },
    { code: 'unsupported', stage: 'suite' },
  ),
  delivery('delivery-params', 'enc_params of another kind', { szafa: 1, header: 'e30', mac: 'AA' }),
  delivery('delivery-text', 'not a JSON object', paramsOf(sealed([file])), tampered('share')),
  delivery(
    'delivery-count',
    'a number of volumes that does not fit',
    paramsOf(sealed({ ...file, volume_count: 2 })),
    tampered('share'),
  ),
  delivery(
    'delivery-size',
    'a size that is no number',
    paramsOf(sealed({ ...file, size: '150' })),
    tampered('share'),
  ),
  { ...delivery('delivery-master', 'another master key', whole), master: hex(drawn('other master', 32)) },
];

export const requestVectors: (RequestVector | DeliveryVector)[] = [...requests, ...deliveries];
