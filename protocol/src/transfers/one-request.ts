import { headers, limits } from '../basics/limits.ts';
import { RuleError } from '../basics/names.ts';
import { toBase64 } from '../files/enc-params.ts';
import type { InitBody } from './bodies.ts';
import { checkInit, type NewTransfer, type SentInit } from './init.ts';

/** The form of a transfer ID chosen by a client. IDs must be hard to guess: anyone who knows one can use the transfer. */
const TRANSFER_ID = /^[\w-]{22,64}$/;

/** Returns the value of X-Init, or undefined if it is too long for a header. The file then needs separate init and complete requests. */
export function encodeInit(init: InitBody): string | undefined {
  const base64 = toBase64(JSON.stringify(init));
  return base64.length <= limits.initBase64Bytes ? base64 : undefined;
}

/** Decodes X-Init, or the field `name` of a batch. Does not check the rules of init. */
export function decodeInit(
  base64: string | undefined,
  name: string = headers.init,
): { body: unknown; text: string } {
  if (base64 === undefined) throw new RuleError(`${name} is missing`);
  if (base64.length > limits.initBase64Bytes) {
    throw new RuleError(`${name}: more than ${limits.initBase64Bytes} bytes of base64`);
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.fromBase64(base64));
    return { body: JSON.parse(text), text };
  } catch (cause) {
    throw new RuleError(`${name} is not base64 of JSON`, { cause });
  }
}

/** Checks rules of a single-request upload that a schema cannot express. */
export function checkFile(transferId: string, init: SentInit, maxVolumeBytes: number): NewTransfer {
  if (!TRANSFER_ID.test(transferId)) {
    throw new RuleError('transfer_id must be 22 to 64 letters, digits, - and _');
  }
  if (init.body.chunk_count !== 1) throw new RuleError('chunk_count must be 1');
  return checkInit(init, maxVolumeBytes);
}
