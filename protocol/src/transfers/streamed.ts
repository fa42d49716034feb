/**
 * Streamed transfers, beyond the specification. They can start before anything is known about the file: init declares the volume sizes
 * or nothing, each PUT has the digest of its volume in Content-Digest, and complete describes the file.
 */
import { cleanFileName, RuleError } from '../basics/names.ts';
import { DIGEST_BYTES, targetDir } from '../files/records.ts';
import type { CompleteBody, StreamedInitBody } from './bodies.ts';
import { encParamsText, type NewTransfer, numberVolumes, type Sent } from './init.ts';

/** Whether an init starts a streamed transfer. Any other value than `streamed: true` does not. */
export const isStreamedInit = (body: unknown): body is StreamedInitBody =>
  (body as StreamedInitBody | null)?.streamed === true;

/** Checks rules that a schema cannot express. */
export function checkStreamedInit(body: StreamedInitBody, maxVolumeBytes: number): NewTransfer {
  const { chunk_count, chunks } = body;
  if ((chunk_count === undefined) !== (chunks === undefined)) {
    throw new RuleError('chunk_count and chunks must be sent together');
  }
  const volumes = numberVolumes(chunks ?? [], chunk_count ?? 0, maxVolumeBytes, () => '');
  return {
    ...volumes,
    streamed: chunks ? 'sized' : 'unsized',
    fileName: '',
    fileSize: 0,
    totalSha256: '',
    dirId: targetDir(body),
    encParams: '',
  };
}

/** The file described by complete, as stored. */
export interface StreamedFile
  extends Pick<NewTransfer, 'fileName' | 'fileSize' | 'totalSha256' | 'encParams'> {
  chunkCount: number;
}

export function checkComplete({ body, text }: Sent<CompleteBody>): StreamedFile {
  return {
    fileName: cleanFileName(body.file_name),
    fileSize: body.file_size + 0,
    totalSha256: body.total_sha256.toLowerCase(),
    encParams: encParamsText(text),
    chunkCount: body.chunk_count,
  };
}

const ALGORITHM = 'sha-256';
/** One digest of RFC 9530: the algorithm, the bytes in base64, and a comma if another digest follows. */
const DIGEST = /[ \t]*([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/]*={0,2}):[ \t]*(,|$)/y;

/** Formats a SHA-256 in hex as a Content-Digest. */
export const contentDigest = (sha256: string) => `${ALGORITHM}=:${Uint8Array.fromHex(sha256).toBase64()}:`;

/** Returns the SHA-256 in a Content-Digest, in hex. Ignores other algorithms, but they must be well-formed. */
export function parseContentDigest(header: string | undefined): string {
  if (header === undefined) throw new RuleError('Content-Digest is missing');
  let found: string | undefined;
  let more = true;
  for (let at = 0; more; at = DIGEST.lastIndex) {
    DIGEST.lastIndex = at;
    const [, algorithm, base64, comma] = DIGEST.exec(header) ?? [];
    if (algorithm === undefined) throw new RuleError('Content-Digest is malformed');
    more = comma === ',';
    if (algorithm !== ALGORITHM) continue;
    if (found !== undefined) throw new RuleError(`Content-Digest has ${ALGORITHM} twice`);
    found = decodeSha256(base64!);
  }
  if (found === undefined) throw new RuleError(`Content-Digest has no ${ALGORITHM}`);
  return found;
}

function decodeSha256(base64: string): string {
  let bytes: Uint8Array | undefined;
  try {
    bytes = Uint8Array.fromBase64(base64, { lastChunkHandling: 'strict' });
  } catch (cause) {
    throw new RuleError('Content-Digest is not base64', { cause });
  }
  if (bytes.length !== DIGEST_BYTES)
    throw new RuleError(`Content-Digest: ${ALGORITHM} has ${DIGEST_BYTES} bytes`);
  return bytes.toHex();
}
