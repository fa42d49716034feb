/** What a writer of key bags must come to, made from docs/format.md with Node's own primitives and nothing of the client. */
import type { BagWriterVector } from './kinds.ts';
import { b64, EMPTY, fixedFor, hex, hkdf, hmac, seal } from './writer-cases.ts';

interface Parts {
  rev?: number;
  epoch?: number;
  master: Buffer;
  earlier?: { epoch: number; key: string }[];
  entries: object[];
  identity: { x25519: string; ed25519: string };
  floor?: number;
}

function bag(serviceId: Buffer, username: string, parts: Parts): string {
  const { rev = 1, epoch = 1, earlier = [], entries, identity, floor } = parts;
  const text = JSON.stringify({
    ...{ service_id: hex(serviceId), username, rev, profile: 1, epoch, earlier, entries, identity },
    ...(floor !== undefined && { floor }),
  });
  const covered = Buffer.concat([Uint8Array.of(1), Buffer.from(text)]);
  const mac = hmac(hkdf(parts.master, EMPTY, 'szafa/v1/bag', 32), covered);
  return b64(Buffer.concat([Uint8Array.of(1), mac, Buffer.from(text)]));
}

/** The first bag, the one after a change of the password and the recovery key, and the one after a rekey. */
function bagWriters(name: string, username: string, hasRecovery: boolean): BagWriterVector[] {
  const fixed = fixedFor(name);
  const serviceId = fixed('service', 16);
  const secrets = { x25519: fixed('x25519', 32), ed25519: fixed('ed25519', 32) };
  const entry = (type: string, kek: Buffer, master: Buffer, r: Buffer) => ({
    type,
    key: b64(seal(kek, `szafa/v1/${type}`, master, r)),
  });
  const state = (step: string, master: Buffer) => {
    const kek = fixed(`${step}kek`, 32);
    const recovery = hasRecovery ? fixed(`${step}recovery kek`, 32) : undefined;
    const r = (label: string) => fixed(`${step}r of ${label}`, 24);
    return {
      ...{ kek, recovery, r },
      drawn: [r('password'), ...(recovery ? [r('recovery')] : [])],
      entries: [
        entry('password', kek, master, r('password')),
        ...(recovery ? [entry('recovery', recovery, master, r('recovery'))] : []),
      ],
      identity: {
        x25519: b64(seal(master, 'szafa/v1/x25519', secrets.x25519, r('x25519'))),
        ed25519: b64(seal(master, 'szafa/v1/ed25519', secrets.ed25519, r('ed25519'))),
      },
      keks: { kek: hex(kek), ...(recovery && { recovery: hex(recovery) }) },
    };
  };
  const [master, later] = [fixed('master', 32), fixed('later master', 32)];
  const [first, second, third] = [state('', master), state('second ', master), state('third ', later)];
  const { r } = first;
  const about = { service_id: hex(serviceId), username };
  const firstBag = bag(serviceId, username, { master, ...first });
  const changed = bag(serviceId, username, {
    rev: 2,
    master,
    entries: second.entries,
    identity: first.identity,
  });
  const earlier = [{ epoch: 1, key: b64(seal(later, 'szafa/v1/master', master, third.r('master'))) }];
  const rekeyed = bag(serviceId, username, { rev: 3, epoch: 2, master: later, earlier, ...third });
  return [
    {
      ...{ name, kind: 'first', ...about, ...first.keks },
      random: [
        ...[master, ...first.drawn, secrets.x25519, r('x25519'), secrets.ed25519, r('ed25519')].map(hex),
      ],
      expect: { bag: firstBag },
    },
    {
      ...{ name: `${name}-changed`, kind: 'change', ...about, ...second.keks },
      before: { bag: firstBag, kek: hex(first.kek) },
      random: second.drawn.map(hex),
      expect: { bag: changed },
    },
    {
      ...{ name: `${name}-rekeyed`, kind: 'rekey', ...about, ...third.keks },
      before: { bag: changed, kek: hex(second.kek) },
      random: [later, ...third.drawn, third.r('master'), third.r('x25519'), third.r('ed25519')].map(hex),
      expect: { bag: rekeyed },
    },
    {
      ...{ name: `${name}-retired`, kind: 'change', ...about, floor: 2 },
      before: { bag: rekeyed, kek: hex(third.kek) },
      random: [],
      expect: {
        bag: bag(serviceId, username, { rev: 4, epoch: 2, master: later, earlier, ...third, floor: 2 }),
      },
    },
  ];
}

/** A bag that gets entries for two passkeys, loses the first, and is rekeyed, which leaves none. */
function passkeyWriters(): BagWriterVector[] {
  const fixed = fixedFor('passkey-bag');
  const [first] = bagWriters('passkey-bag', 'ewa', false) as [BagWriterVector];
  const [serviceId, master, kek] = [fixed('service', 16), fixed('master', 32), fixed('kek', 32)];
  const text = JSON.parse(Buffer.from(first.expect.bag, 'base64url').subarray(33).toString());
  const ids = ['ring', 'phone'].map((id) => b64(Buffer.from(id)));
  const made = ids.map((id, at) => {
    const [own, r] = [fixed(`passkey kek ${at}`, 32), fixed(`r of passkey ${at}`, 24)];
    return {
      r,
      passkey: { id, kek: hex(own) },
      entry: { type: 'passkey', id, key: b64(seal(own, 'szafa/v1/passkey', master, r)) },
    };
  });
  const about = { service_id: hex(serviceId), username: 'ewa' };
  const next = (rev: number, ...entries: object[]) =>
    bag(serviceId, 'ewa', { rev, master, entries: [...text.entries, ...entries], identity: text.identity });
  const [ring, phone] = made as [(typeof made)[0], (typeof made)[0]];
  const bags = [
    first.expect.bag,
    next(2, ring.entry),
    next(3, ring.entry, phone.entry),
    next(4, phone.entry),
  ];
  const change = (
    name: string,
    at: number,
    more: Partial<BagWriterVector>,
    random: Buffer[],
  ): BagWriterVector => ({
    ...{ name: `passkey-bag-${name}`, kind: 'change', ...about, ...more },
    before: { bag: bags[at]!, kek: hex(kek) },
    random: random.map(hex),
    expect: { bag: bags[at + 1]! },
  });
  const [, , rekeyed] = bagWriters('passkey-bag', 'ewa', false) as [unknown, unknown, BagWriterVector];
  const last = JSON.parse(Buffer.from(rekeyed.expect.bag, 'base64url').subarray(33).toString());
  const later = fixed('later master', 32);
  return [
    change('added', 0, { passkey: ring.passkey }, [ring.r]),
    change('second', 1, { passkey: phone.passkey, keep: [ids[0]!] }, [phone.r]),
    change('removed', 2, { keep: [ids[1]!] }, []),
    {
      ...{ ...rekeyed, name: 'passkey-bag-left-out' },
      before: { bag: bags[3]!, kek: hex(kek) },
      expect: { bag: bag(serviceId, 'ewa', { ...last, rev: 5, epoch: 2, master: later }) },
    },
  ];
}

const all = [
  ...bagWriters('first-bag', 'wektor', false),
  ...bagWriters('other-bag', 'Ewa_2', false),
  ...bagWriters('recovery-bag', 'ewa', true),
  ...passkeyWriters(),
];

export { all as bagWriters };
