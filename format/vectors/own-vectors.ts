/** Vectors of what an owner keeps beside shares and requests: what they look like, and what reads and writes them. */
import { SzafaError, TamperedError } from '../../client/src/errors.ts';
import { Api, Keys } from '../../client/src/index.ts';
import { openOwnLink } from '../../client/src/sharing/links.ts';
import { openOwnRequest } from '../../client/src/sharing/requests.ts';
import { type Engine, linkKeyText, requestKeyText, toBase64Url } from '../src/index.ts';
import { sealShareRecord } from '../src/sharing/share.ts';
import { bagOfReader, READER } from './bag-builder.ts';
import type { MasterJson } from './kinds.ts';
import { own as drawing } from './share-vectors.ts';

export interface OwnVector {
  name: string;
  about: string;
  /** Beside what it is kept. */
  beside: 'share' | 'request';
  /** Of the request: nobody uploads by it any more. */
  ended?: true;
  masters: MasterJson[];
  /** Of the reader's key bag, where it is not 1. */
  floor?: number;
  /** Of the share or the request. */
  id: string;
  own: string;
  /** What a writer seals, under the master key of `epoch`, and the r that it draws (hex). */
  written?: { epoch: number; text: Record<string, unknown>; random: string };
  expect: Record<string, unknown> | { code: string; stage?: string };
}

export async function runOwn(engine: Engine, vector: OwnVector): Promise<OwnVector['expect']> {
  const { id, own, beside, ended } = vector;
  const { bag, kek } = await bagOfReader(engine, vector);
  const body = new TextEncoder().encode(JSON.stringify({ keys: toBase64Url(bag) }));
  const api = new Api({
    server: 'http://service.invalid',
    transport: async () => ({ status: 200, header: () => undefined, body }),
  });
  const keys = new Keys({ engine, api, username: READER.username, kek });
  try {
    if (beside === 'share') {
      const { key, ...about } = await openOwnLink({ engine, keys }, { id, own });
      return { ...about, ...(key && { key: linkKeyText(key) }) };
    }
    const request = { id, own, ended: ended ? ('ended' as const) : null };
    const { key, ...about } = await openOwnRequest({ engine, keys }, request as never);
    return { ...about, ...(key && { key: requestKeyText(key) }) };
  } catch (error) {
    if (!(error instanceof SzafaError)) throw error;
    return { code: error.code, ...(error instanceof TamperedError && { stage: error.stage }) };
  }
}

export async function runOwnWriter(engine: Engine, { id, masters, written }: OwnVector): Promise<string> {
  const { epoch, text, random } = written!;
  const { key } = masters.find((master) => master.epoch === epoch)!;
  const writer = drawing(engine, () => Uint8Array.fromHex(random));
  return toBase64Url(await sealShareRecord(writer, { epoch, key: Uint8Array.fromHex(key) }, id, text));
}
