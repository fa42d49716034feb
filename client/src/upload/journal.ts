import { type Bytes, concat, fromBase64Url, fromUtf8, toBase64Url, utf8 } from '../format/bytes.ts';
import type { Engine } from '../format/engine.ts';
import { labels } from '../format/engine.ts';
import { type Layout, layoutOf } from '../format/layout.ts';
import { seal, unseal } from '../format/seal.ts';
import { SALT_BYTES } from '../format/segments.ts';
import type { Claims } from './claims.ts';

/** Where unfinished transfers are remembered. What is stored is sealed; it may lie anywhere. @public */
export interface Journal {
  load(key: string): Promise<Uint8Array | undefined>;
  store(key: string, entry: Uint8Array): Promise<void>;
  remove(key: string): Promise<void>;
  /** Absent where nobody else can share the journal. */
  claims?: Claims | undefined;
}

/** Everything an upload needs to go on in another process. */
export interface UploadState {
  transferId: string;
  fileId: Bytes;
  fileKey: Bytes;
  /** Source.identity at the start. */
  identity: string;
  /** Both as sealed into the metadata. */
  gen: number;
  added: number;
  layout: Layout;
  digests: Bytes[];
  salts: Bytes[];
}

interface StateJson {
  transfer_id: string;
  file_id: string;
  file_key: string;
  identity: string;
  gen: number;
  added: number;
  size: number;
  volume_size: number;
  digests: string;
  salts: string;
}

/** The same transfer is found again by what it is about. */
export async function journalKey(
  engine: Engine,
  about: readonly (string | number | null)[],
): Promise<string> {
  return (await engine.sha256(utf8(JSON.stringify(about)))).toHex();
}

/** Sealed under the master key: neither the file key nor the transfer id, a capability, lies on disk. */
export async function sealState(engine: Engine, master: Bytes, state: UploadState): Promise<Bytes> {
  const json: StateJson = {
    transfer_id: state.transferId,
    file_id: toBase64Url(state.fileId),
    file_key: toBase64Url(state.fileKey),
    identity: state.identity,
    gen: state.gen,
    added: state.added,
    size: state.layout.size,
    volume_size: state.layout.volumeSize,
    digests: toBase64Url(concat(...state.digests)),
    salts: toBase64Url(concat(...state.salts)),
  };
  return seal(engine, master, labels.journal, utf8(JSON.stringify(json)));
}

/** Undefined for an entry of another key, or a damaged one: the upload then starts again. */
export async function openState(
  engine: Engine,
  master: Bytes,
  entry: Bytes,
): Promise<UploadState | undefined> {
  const opened = await unseal(engine, master, labels.journal, entry);
  if (!('plain' in opened)) return undefined;
  const json = JSON.parse(fromUtf8(opened.plain)) as StateJson;
  const layout = layoutOf(json.size, json.volume_size);
  const parts = (text: string, length: number) => {
    const all = fromBase64Url(text);
    return Array.from({ length: layout.count }, (_, i) => all.slice(i * length, (i + 1) * length));
  };
  return {
    transferId: json.transfer_id,
    fileId: fromBase64Url(json.file_id),
    fileKey: fromBase64Url(json.file_key),
    identity: json.identity,
    gen: json.gen,
    added: json.added,
    layout,
    digests: parts(json.digests, 32),
    salts: parts(json.salts, SALT_BYTES),
  };
}
