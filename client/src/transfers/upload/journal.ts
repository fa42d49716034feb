import {
  type Bytes,
  bytesOf,
  concat,
  type Engine,
  fromBase64Url,
  fromUtf8,
  type Layout,
  labels,
  layoutOf,
  readU32,
  requireKey,
  seal,
  toBase64Url,
  u32,
  unseal,
  utf8,
} from '@szafa/format';
import type { CompleteBody } from '@szafa/protocol';
import type { TransferLocks } from './locks.ts';
import type { VolumeRecord } from './supply.ts';

/**
 * Stores unfinished transfers. Entries of uploads are sealed. Entries of downloads contain the path of the file and its local path in the
 * clear, so keep a journal on the machine that has the file. @public
 */
export interface Journal {
  /** Returns the stored entry with all appended records. After a power failure, the end may be missing or torn. */
  load(key: string): Promise<Uint8Array | undefined>;
  store(key: string, entry: Uint8Array): Promise<void>;
  /** Appends to an entry. Does nothing if the entry was removed. */
  append(key: string, record: Uint8Array): Promise<void>;
  remove(key: string): Promise<void>;
  /** Lists the keys of all entries. Only needed to list unfinished transfers. */
  keys?(): Promise<string[]>;
  /** Absent if no other process can share the journal. */
  locks?: TransferLocks | undefined;
}

/** The state that another process needs to resume an upload, except the records of its volumes. */
export interface UploadState {
  /** Empty if a visitor does not know whether the server has created the transfer. */
  transferId: string;
  /** Path on the server. */
  path: string;
  /** `place` of the source. */
  place: string;
  fileId: Bytes;
  fileKey: Bytes;
  /** `identity` of the source when the upload started. */
  identity: string;
  layout: Layout;
  /** Set if the header was sealed when the upload started. */
  declared?: DeclaredHeader | undefined;
}

/** Fields of a header that was sealed before the first volume was sent. */
export interface DeclaredHeader {
  gen: number;
  /** Epoch of the master key that sealed the header. */
  epoch: number;
}

/** An upload as read from the journal. */
export interface LoggedUpload {
  state: UploadState;
  /** Records by volume number. If two processes sealed the same volume, there are two records, and either may have been sent. */
  volumes: Map<number, VolumeRecord[]>;
  /** The body of `complete` and its `gen`, if it may have been sent. */
  completing?: { description: CompleteBody; gen: number } | undefined;
}

type StateJson = ReturnType<typeof stateToJson>;

/** A record of an entry. The state comes first; the other records name their file. */
type RecordJson =
  | { state: StateJson }
  | { file: string; volume: number; salt: string; digest: string }
  | { file: string; complete: CompleteBody; gen: number };

/** Derives the key of an entry from the values that identify the transfer. */
export async function journalKey(
  engine: Engine,
  about: readonly (string | number | null)[],
): Promise<string> {
  return (await engine.sha256(utf8(JSON.stringify(about)))).toHex();
}

export type UploadLog = ReturnType<typeof uploadLog>;

/**
 * The entry of one upload in a journal. Each record is sealed under the newest master key, so the disk has neither the file key nor the
 * transfer id, which grants access to the transfer. Losing records is safe: a forgotten volume is sealed again under a new salt.
 * @param masters newest first; entries from before a rekey are sealed under older ones
 * @param expected source and target of the upload; an entry of another upload is ignored
 */
export function uploadLog(
  journal: Journal,
  key: string,
  engine: Engine,
  masters: readonly Bytes[],
  expected?: Pick<UploadState, 'place' | 'path'>,
) {
  let file = '';

  const sealRecord = async (record: RecordJson): Promise<Bytes> => {
    const sealed = await seal(engine, masters[0]!, labels.journal, utf8(JSON.stringify(record)));
    return concat(u32(sealed.length), sealed);
  };
  const openRecord = async (sealed: Bytes): Promise<Bytes | undefined> => {
    for (const master of masters) {
      const opened = await unseal(engine, master, labels.journal, sealed);
      if ('plain' in opened) return opened.plain;
    }
    return undefined;
  };
  const append = async (record: RecordJson) => journal.append(key, await sealRecord(record));
  const volumeJson = (idx: number, { salt, digest }: VolumeRecord): RecordJson => {
    return { file, volume: idx, salt: toBase64Url(salt), digest: toBase64Url(digest) };
  };

  const log = {
    async begin(state: UploadState, volumes: Iterable<[number, VolumeRecord]> = []): Promise<void> {
      file = toBase64Url(state.fileId);
      const records = [await sealRecord({ state: stateToJson(state) })];
      for (const [idx, record] of volumes) records.push(await sealRecord(volumeJson(idx, record)));
      await journal.store(key, concat(...records));
    },

    /** Records a volume. Call it before sending the volume. */
    volume: (idx: number, record: VolumeRecord) => append(volumeJson(idx, record)),
    complete: (description: CompleteBody, gen: number) => append({ file, complete: description, gen }),
    end: () => journal.remove(key),

    /**
     * Returns undefined if there is no entry that these keys open.
     * @param mend whether to repair a torn end; only for callers that will resume the upload
     */
    async load({ mend = true } = {}): Promise<LoggedUpload | undefined> {
      const entry = await journal.load(key);
      if (!entry) return undefined;
      let logged: LoggedUpload | undefined;
      let torn = false;
      for (let at = 0; at < entry.length && !torn; ) {
        const length = at + 4 <= entry.length ? readU32(entry, at) : 0;
        const plain = await openRecord(entry.slice(at + 4, at + 4 + length) as Bytes);
        at += 4 + length;
        const more = plain && addRecord(logged, plain);
        logged = more ?? logged;
        torn = !more;
      }
      const { state } = logged ?? {};
      if (!logged || !state) return undefined;
      if (expected && (state.place !== expected.place || state.path !== expected.path)) return undefined;
      file = toBase64Url(state.fileId);
      // Records appended after a torn end would be unreadable.
      if (torn && mend) await rewrite(logged);
      return logged;
    },
  };

  async function rewrite({ state, volumes, completing }: LoggedUpload): Promise<void> {
    const all = [...volumes].flatMap(([idx, records]) =>
      records.map((record): [number, VolumeRecord] => [idx, record]),
    );
    await log.begin(state, all);
    if (completing) await log.complete(completing.description, completing.gen);
  }

  return log;
}

/** Adds a record. Returns undefined if it is invalid: other programs with the key may write to the journal. */
function addRecord(logged: LoggedUpload | undefined, plain: Bytes): LoggedUpload | undefined {
  try {
    const record = JSON.parse(fromUtf8(plain)) as RecordJson;
    if ('state' in record) return logged ?? { state: stateFromJson(record.state), volumes: new Map() };
    // The record may belong to an earlier upload that another process started under this key.
    if (!logged || record.file !== toBase64Url(logged.state.fileId)) return logged;
    if ('complete' in record) {
      logged.completing = { description: record.complete, gen: record.gen };
      return logged;
    }
    const known = logged.volumes.get(record.volume) ?? [];
    known.push({ salt: fromBase64Url(record.salt), digest: fromBase64Url(record.digest) });
    logged.volumes.set(record.volume, known);
    return logged;
  } catch {
    return undefined;
  }
}

const stateToJson = ({ transferId, path, place, identity, ...state }: UploadState) => ({
  transfer_id: transferId,
  ...{ path, place, identity },
  file_id: toBase64Url(state.fileId),
  file_key: toBase64Url(state.fileKey),
  size: state.layout.size,
  volume_size: state.layout.volumeSize,
  declared_gen: state.declared?.gen,
  declared_epoch: state.declared?.epoch,
});

/** Throws for a state with which nothing could be sealed or opened. */
function stateFromJson({ transfer_id: transferId, path, place, identity, ...json }: StateJson): UploadState {
  if (![transferId, path, place, identity].every((text) => typeof text === 'string'))
    throw new TypeError('not the state of an upload');
  const { declared_gen: gen, declared_epoch: epoch = 1 } = json;
  return {
    ...{ transferId, path, place, identity },
    fileId: bytesOf(json.file_id, 'journal', 'file_id', 16),
    fileKey: requireKey(bytesOf(json.file_key, 'journal', 'file_key', 32)),
    layout: layoutOf(json.size, json.volume_size),
    declared: gen === undefined ? undefined : { gen, epoch },
  };
}
