/** What an owner keeps beside a share, on the service and sealed: what every device of theirs needs to show it, and to give its link again. */
import type { Master } from './bag.ts';
import { type Bytes, concat, readU32, u32, utf8, withBlanks } from './bytes.ts';
import { type Engine, labels } from './engine.ts';
import { TamperedError } from './errors.ts';
import { parseObject } from './json.ts';
import { SEAL_OVERHEAD, seal, unseal } from './seal.ts';

const EPOCH = 4;

/** Bound to the share: what was kept beside one says nothing beside another. */
const labelOf = (id: string) => `${labels.ownShare}/${id}`;

/** u32(epoch) ‖ seal; under the master key of that epoch. @public */
export async function sealOwn(engine: Engine, master: Master, id: string, own: object): Promise<Bytes> {
  const text = withBlanks(utf8(JSON.stringify(own)));
  return concat(u32(master.epoch), await seal(engine, master.key, labelOf(id), text));
}

/** Which master key it is under. @public */
export function epochOfOwn(sealed: Bytes): number {
  if (sealed.length < EPOCH + SEAL_OVERHEAD) throw notOwn();
  return readU32(sealed, 0);
}

/** What was kept; nothing of it is checked yet but that it is the owner's, and of this share. @public */
export async function openOwn(
  engine: Engine,
  master: Bytes,
  id: string,
  sealed: Bytes,
): Promise<Record<string, unknown>> {
  const opened = await unseal(engine, master, labelOf(id), sealed.slice(EPOCH));
  if (!('plain' in opened)) throw notOwn();
  return parseObject(opened.plain, 'share', 'what is kept beside the share');
}

const notOwn = () => new TamperedError('share', 'what the server keeps beside this share is not yours');
