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
 * Where unfinished transfers are remembered. What an upload stores is sealed, and may lie anywhere; a download stores the path of its file
 * on the service and its place here in the clear, so a journal belongs to the machine that has the file. @public
 */
export interface Journal {
  /** What was stored, and behind it, in order, what was appended; the end may be missing or torn after a power cut. */
  load(key: string): Promise<Uint8Array | undefined>;
  store(key: string, entry: Uint8Array): Promise<void>;
  /** Adds to what was stored; nothing happens where that has been removed. */
  append(key: string, record: Uint8Array): Promise<void>;
  remove(key: string): Promise<void>;
  /** Of all that is stored; absent where nobody wants to know what is unfinished. */
  keys?(): Promise<string[]>;
  /** Absent where nobody else can share the journal. */
  locks?: TransferLocks | undefined;
}

/** What an upload needs to go on in another process, beside the volumes that it sealed. */
export interface UploadState {
  /** '' where a visitor does not know yet whether it has begun. */
  transferId: string;
  /** Where it goes. */
  path: string;
  /** Source.place */
  place: string;
  fileId: Bytes;
  fileKey: Bytes;
  /** Source.identity at the start. */
  identity: string;
  layout: Layout;
  /** Of a transfer whose header was sealed at its beginning. */
  declared?: DeclaredHeader | undefined;
}

/** What a header says that was sealed before the first volume was sent. */
export interface DeclaredHeader {
  gen: number;
  /** Of its master key. */
  epoch: number;
}

type UploadPlace = Pick<UploadState, 'place' | 'path'>;

/** All that is remembered of an upload. */
export interface Remembered {
  state: UploadState;
  /** By their numbers. Where two processes sealed the same one there are two: either may have been sent. */
  volumes: Map<number, VolumeRecord[]>;
  /** What complete was told, if it was asked for, with `gen` in it. */
  completing?: { description: CompleteBody; gen: number } | undefined;
}

interface StateJson {
  transfer_id: string;
  path: string;
  place: string;
  file_id: string;
  file_key: string;
  identity: string;
  size: number;
  volume_size: number;
  declared_gen?: number;
  declared_epoch?: number;
}

/** The state comes first; the others carry the file's id, by which they belong to it. */
type RecordJson =
  | { state: StateJson }
  | { file: string; volume: number; salt: string; digest: string }
  | { file: string; complete: CompleteBody; gen: number };

/** The same transfer is found again by what it is about. */
export async function journalKey(
  engine: Engine,
  about: readonly (string | number | null)[],
): Promise<string> {
  return (await engine.sha256(utf8(JSON.stringify(about)))).toHex();
}

/**
 * The entry of one upload in a journal. Each record is sealed under the newest master key: neither the file key nor the transfer id, a
 * capability, lies on disk. Nothing secret depends on what is remembered: who forgets a volume seals it anew, under another salt.
 */
export class UploadLog {
  readonly #journal: Journal;
  readonly #key: string;
  readonly #engine: Engine;
  readonly #masters: readonly Bytes[];
  readonly #of: UploadPlace | undefined;
  #file = '';

  /**
   * The masters newest first: what was written before a rekey is still found. `of`: what the key was made from; the entry of another
   * upload that somebody put in its place is none.
   */
  constructor(journal: Journal, key: string, engine: Engine, masters: readonly Bytes[], of?: UploadPlace) {
    this.#of = of;
    this.#journal = journal;
    this.#key = key;
    this.#engine = engine;
    this.#masters = masters;
  }

  async begin(state: UploadState, volumes: Iterable<[number, VolumeRecord]> = []): Promise<void> {
    this.#file = toBase64Url(state.fileId);
    const { layout, declared } = state;
    const json: StateJson = {
      transfer_id: state.transferId,
      path: state.path,
      place: state.place,
      file_id: this.#file,
      file_key: toBase64Url(state.fileKey),
      identity: state.identity,
      size: layout.size,
      volume_size: layout.volumeSize,
      ...(declared && { declared_gen: declared.gen, declared_epoch: declared.epoch }),
    };
    const records = [await this.#sealed({ state: json })];
    for (const [idx, record] of volumes) records.push(await this.#sealed(this.#volume(idx, record)));
    await this.#journal.store(this.#key, concat(...records));
  }

  /** A volume that is about to be sent. */
  async volume(idx: number, record: VolumeRecord): Promise<void> {
    await this.#journal.append(this.#key, await this.#sealed(this.#volume(idx, record)));
  }

  async complete(description: CompleteBody, gen: number): Promise<void> {
    const record = await this.#sealed({ file: this.#file, complete: description, gen });
    await this.#journal.append(this.#key, record);
  }

  end(): Promise<void> {
    return this.#journal.remove(this.#key);
  }

  /** Undefined where there is nothing, or nothing that this key opens. Only who goes on with it may `mend` it. */
  async load({ mend = true } = {}): Promise<Remembered | undefined> {
    const entry = await this.#journal.load(this.#key);
    if (!entry) return undefined;
    let remembered: Remembered | undefined;
    let torn = false;
    for (let at = 0; at < entry.length && !torn; ) {
      const length = at + 4 <= entry.length ? readU32(entry, at) : 0;
      const plain = await this.#opened(entry.slice(at + 4, at + 4 + length) as Bytes);
      at += 4 + length;
      const more = plain && withRecord(remembered, plain);
      remembered = more ?? remembered;
      torn = !more;
    }
    if (!remembered || !this.#isOwn(remembered.state)) return undefined;
    this.#file = toBase64Url(remembered.state.fileId);
    // What is appended behind a torn end could not be found again.
    if (torn && mend) await this.#rewrite(remembered);
    return remembered;
  }

  #isOwn({ place, path }: UploadPlace): boolean {
    return !this.#of || (place === this.#of.place && path === this.#of.path);
  }

  async #rewrite({ state, volumes, completing }: Remembered): Promise<void> {
    const all = [...volumes].flatMap(([idx, records]) =>
      records.map((record): [number, VolumeRecord] => [idx, record]),
    );
    await this.begin(state, all);
    if (completing) await this.complete(completing.description, completing.gen);
  }

  #volume(idx: number, { salt, digest }: VolumeRecord): RecordJson {
    return { file: this.#file, volume: idx, salt: toBase64Url(salt), digest: toBase64Url(digest) };
  }

  async #sealed(record: RecordJson): Promise<Bytes> {
    const sealed = await seal(this.#engine, this.#masters[0]!, labels.journal, utf8(JSON.stringify(record)));
    return concat(u32(sealed.length), sealed);
  }

  async #opened(sealed: Bytes): Promise<Bytes | undefined> {
    for (const master of this.#masters) {
      const opened = await unseal(this.#engine, master, labels.journal, sealed);
      if ('plain' in opened) return opened.plain;
    }
    return undefined;
  }
}

/** With what a record adds; undefined for one that no upload has: only who has the key can have written it, but that need not be this program. */
function withRecord(remembered: Remembered | undefined, plain: Bytes): Remembered | undefined {
  try {
    const record = JSON.parse(fromUtf8(plain)) as RecordJson;
    if ('state' in record) return remembered ?? { state: stateOf(record.state), volumes: new Map() };
    if (remembered) add(remembered, record);
    return remembered;
  } catch {
    return undefined;
  }
}

/** What is sealed under anything else could not be opened again. */
function stateOf(json: StateJson): UploadState {
  const {
    transfer_id: transferId,
    path,
    place,
    identity,
    declared_gen: gen,
    declared_epoch: epoch = 1,
  } = json;
  if (![transferId, path, place, identity].every((text) => typeof text === 'string'))
    throw new TypeError('no state of an upload');
  return {
    ...{ transferId, path, place, identity },
    fileId: bytesOf(json.file_id, 'journal', 'file_id', 16),
    fileKey: requireKey(bytesOf(json.file_key, 'journal', 'file_key', 32)),
    layout: layoutOf(json.size, json.volume_size),
    declared: gen === undefined ? undefined : { gen, epoch },
  };
}

function add(remembered: Remembered, record: Exclude<RecordJson, { state: StateJson }>): void {
  // Of an upload that another process had begun in this place before.
  if (record.file !== toBase64Url(remembered.state.fileId)) return;
  if ('complete' in record) {
    remembered.completing = { description: record.complete, gen: record.gen };
    return;
  }
  const known = remembered.volumes.get(record.volume) ?? [];
  known.push({ salt: fromBase64Url(record.salt), digest: fromBase64Url(record.digest) });
  remembered.volumes.set(record.volume, known);
}
