import { toBase64 } from './enc-params.ts';
import { memberText } from './json-text.ts';
import { limits } from './limits.ts';
import { cleanFileName, RuleError } from './names.ts';
import { type InitBody, targetDir } from './resources.ts';

export interface Volume {
  idx: number;
  size: number;
  sha256: string;
}

/** An init body, and the JSON text in which it came. */
export interface SentInit {
  body: InitBody;
  text: string;
}

/** An init body that obeys every rule, in the form in which it is stored. */
export interface NewTransfer {
  fileName: string;
  fileSize: number;
  storedSize: number;
  totalSha256: string;
  /** 0 is the root. */
  dirId: number;
  /** The JSON text as it was sent; it will travel, base64-encoded, in X-Enc-Params. */
  encParams: string;
  /** In ascending order, numbered 1 to their count. */
  volumes: Volume[];
}

/** The rules of init that a schema cannot say. */
export function checkInit({ body, text }: SentInit, maxVolumeBytes: number): NewTransfer {
  const count = body.chunk_count;
  if (body.chunks.length !== count) {
    throw new RuleError(`chunk_count is ${count}, but chunks has ${body.chunks.length} entries`);
  }
  const volumes = new Array<Volume>(count);
  let storedSize = 0;
  for (const [position, chunk] of body.chunks.entries()) {
    const idx = chunk.idx ?? position + 1;
    if (idx < 1 || idx > count) throw new RuleError(`chunks: number ${idx} is outside 1 to ${count}`);
    if (volumes[idx - 1]) throw new RuleError(`chunks: number ${idx} occurs twice`);
    if (chunk.size > maxVolumeBytes) {
      throw new RuleError(`chunks: volume ${idx} is larger than ${maxVolumeBytes} bytes`);
    }
    volumes[idx - 1] = { idx, size: chunk.size + 0, sha256: chunk.sha256.toLowerCase() };
    storedSize += chunk.size;
  }
  if (!Number.isSafeInteger(storedSize)) throw new RuleError('chunks: the sum of the sizes is too large');
  const encParams = memberText(text, 'enc_params')!;
  if (toBase64(encParams).length > limits.encParamsBase64Bytes) {
    throw new RuleError(`enc_params: more than ${limits.encParamsBase64Bytes} bytes of base64`);
  }
  return {
    fileName: cleanFileName(body.file_name),
    fileSize: body.file_size + 0,
    storedSize,
    totalSha256: body.total_sha256.toLowerCase(),
    dirId: targetDir(body),
    encParams,
    volumes,
  };
}
