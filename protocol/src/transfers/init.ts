import { memberText } from '../basics/json-text.ts';
import { limits } from '../basics/limits.ts';
import { cleanFileName, RuleError } from '../basics/names.ts';
import { toBase64 } from '../files/enc-params.ts';
import { targetDir } from '../files/records.ts';
import type { InitBody, StreamedVolumeSpec } from './bodies.ts';

export interface Volume {
  idx: number;
  size: number;
  sha256: string;
}

/** A parsed body and its JSON text. */
export interface Sent<Body> {
  body: Body;
  text: string;
}

export type SentInit = Sent<InitBody>;

/** Whether the digests are sent with the volumes instead of in init. `sized`: init declares volume sizes; `unsized`: it does not. */
export type Streamed = 'no' | 'sized' | 'unsized';

/** A checked init, as stored. */
export interface NewTransfer {
  fileName: string;
  fileSize: number;
  storedSize: number;
  totalSha256: string;
  /** 0 is the root. */
  dirId: number;
  /** JSON text exactly as sent. X-Enc-Params returns it in base64. */
  encParams: string;
  /** In ascending order, numbered from 1. Digests are empty if the transfer is streamed. */
  volumes: Volume[];
  streamed: Streamed;
}

/** Checks rules of init that a schema cannot express. */
export function checkInit({ body, text }: SentInit, maxVolumeBytes: number): NewTransfer {
  return {
    ...numberVolumes(body.chunks, body.chunk_count, maxVolumeBytes, ({ sha256 }) => sha256.toLowerCase()),
    streamed: 'no',
    fileName: cleanFileName(body.file_name),
    fileSize: body.file_size + 0,
    totalSha256: body.total_sha256.toLowerCase(),
    dirId: targetDir(body),
    encParams: encParamsText(text),
  };
}

/** Sorts and checks the volumes, and adds up their sizes. */
export function numberVolumes<Spec extends StreamedVolumeSpec>(
  chunks: Spec[],
  count: number,
  maxVolumeBytes: number,
  digestOf: (chunk: Spec) => string,
): Pick<NewTransfer, 'volumes' | 'storedSize'> {
  if (chunks.length !== count) {
    throw new RuleError(`chunk_count is ${count}, but chunks has ${chunks.length} entries`);
  }
  const volumes = new Array<Volume>(count);
  let storedSize = 0;
  for (const [position, chunk] of chunks.entries()) {
    const idx = chunk.idx ?? position + 1;
    if (idx < 1 || idx > count) throw new RuleError(`chunks: number ${idx} is outside 1 to ${count}`);
    if (volumes[idx - 1]) throw new RuleError(`chunks: number ${idx} occurs twice`);
    if (chunk.size > maxVolumeBytes) {
      throw new RuleError(`chunks: volume ${idx} is larger than ${maxVolumeBytes} bytes`);
    }
    volumes[idx - 1] = { idx, size: chunk.size + 0, sha256: digestOf(chunk) };
    storedSize += chunk.size;
  }
  if (!Number.isSafeInteger(storedSize)) throw new RuleError('chunks: the sum of the sizes is too large');
  return { volumes, storedSize };
}

/** Returns the JSON text of enc_params exactly as sent. */
export function encParamsText(text: string): string {
  const encParams = memberText(text, 'enc_params')!;
  if (toBase64(encParams).length > limits.encParamsBase64Bytes) {
    throw new RuleError(`enc_params: more than ${limits.encParamsBase64Bytes} bytes of base64`);
  }
  return encParams;
}
