import type { Writable } from 'node:stream';
import type { AccountLimits, Volume } from '@szafa/protocol';
import type { Body } from './body.ts';

/** The record of a file, stored beside its volumes so that the database can be rebuilt. */
export interface Manifest {
  file_id: string;
  file_name: string;
  size: number;
  sha256: string;
  /** The owner. A username may belong to another account later, an id never does. */
  account_id: string;
  owner: string;
  dir_id: number;
  chunk_count: number;
  created_at: string;
  /** The JSON text as the client sent it. */
  enc_params: string;
  /** The revision of the record. */
  rev: number;
  /** Set while the file is in the trash. */
  trashed_at?: string | undefined;
  /** Stored as volume 0 of the group. */
  thumbnail?: Omit<Volume, 'idx'> | undefined;
  /** All of them, in order. */
  volumes: Volume[];
}

/** An account, stored for the same purpose: its user can log in with the same password. */
export interface AccountDocument {
  account_id: string;
  username: string;
  /** Null for the administrator. */
  password_hash: string | null;
  created_at: string;
  dirs: { dir_id: number; name: string; created_at: string }[];
  /** The key bag, as the client sealed it. */
  keys?: string | undefined;
  /** The public keys of the account. */
  identity?: string | undefined;
  /** The hash of the recovery key, if there is one. */
  recovery_hash?: string | undefined;
  /** Set while an operator has disabled the account. */
  disabled_at?: string | undefined;
  /** Limits that an operator has set. */
  limits?: Partial<AccountLimits> | undefined;
  rev: number;
}

/** Identifies a volume: its name in the store has both, so that no body ever replaces a different one. */
export type VolumeName = Pick<Volume, 'idx' | 'sha256'>;

/** Notes in the store: its id, the id of its server, and which database used it last. */
export type NoteName = 'store-id' | 'service-id' | 'store-mark';

/** One volume, open for reading. Always `close` it. */
export interface OpenVolume {
  readonly size: number;
  /** Sends the bytes from `start` to before `end`; resolves when the sink has taken them. */
  send(sink: Writable, start: number, end: number): Promise<void>;
  close(): Promise<void>;
}

/** Where nginx finds a volume, below its location for stores of this kind. */
export interface VolumePlace {
  kind: 'folder' | 's3';
  /** Path of a URL, with a query if the store needs one. */
  path: string;
  size: number;
}

/**
 * Stores volumes in groups: one group for each file, with the same id from init to deletion. A volume is stored once its
 * verified bytes have their final name, made of number and digest, so that it can be checked on its own. Volumes are numbered
 * from 1; number 0 is the thumbnail, which `received` omits. Ids come from the server, never from a request.
 */
export interface VolumeStore {
  /** Creates a group. May be repeated. */
  create(id: string): Promise<void>;
  /** Stores a volume; when it resolves, the verified bytes are durable. Throws VolumeRejected, which leaves no trace, or GroupGone. */
  put(id: string, volume: Volume, body: Body): Promise<void>;
  /** Removes a volume unless `isRight` finds that it is right; one that has arrived again stays. Returns true if it is gone. */
  withdraw(
    id: string,
    volume: VolumeName,
    isRight: (volume: OpenVolume) => Promise<boolean>,
  ): Promise<boolean>;
  /** The numbers of the stored volumes, ascending. */
  received(id: string): Promise<number[]>;
  /** The stored volumes in no order; several may have the same number. */
  list(id: string): Promise<VolumeName[]>;
  /** Makes the group a file: stores the manifest durably. May be repeated. */
  writeManifest(manifest: Manifest): Promise<void>;
  /** Stores a new group of one volume and its manifest, durably. After a failure call `discard`. */
  putFile(manifest: Manifest, volume: Volume, body: Body): Promise<void>;
  /** Removes only the manifest. May be repeated. */
  removeManifest(id: string): Promise<void>;
  /** Stores the document of an account durably; replaces an earlier one. */
  writeAccount(account: AccountDocument): Promise<void>;
  /** Removes the document of an account. May be repeated. */
  removeAccount(accountId: string): Promise<void>;
  /** The ids of all accounts with a document, in no order. */
  accounts(): AsyncIterable<string>;
  account(accountId: string): Promise<AccountDocument | undefined>;
  /** The manifest of a group that is a file. */
  manifest(id: string): Promise<Manifest | undefined>;
  /** Undefined if the volume is not stored. `whole`: all of it will be sent, so the store may start to read. */
  open(id: string, volume: VolumeName, whole?: boolean): Promise<OpenVolume | undefined>;
  /** For nginx, which finds out itself whether the volume exists. */
  locate(id: string, volume: Volume): VolumePlace;
  /** Copies volumes of a group to a new group, durably. */
  copy(from: string, to: string, volumes: Volume[]): Promise<void>;
  /** Whether `received` is slow with thousands of volumes. */
  readonly listsSlowly?: boolean;
  /** Whether a failed removal has removed nothing. */
  readonly removesAtOnce: boolean;
  /** Makes the whole group unreadable. May be repeated. */
  remove(id: string): Promise<void>;
  /** The same for a group that is not in the database yet, also while the server is read-only. */
  discard(id: string): Promise<void>;
  /** Frees the space of removed groups. Keeps those that are files: a restored database may be older than their removal. */
  reclaim(areFiles: (ids: string[]) => Promise<Set<string>>): Promise<void>;
  /** All groups with a greater id, in order. */
  groups(after?: string): AsyncIterable<{ id: string; changedAt: number }>;
  /** Whether the group has a manifest. */
  hasManifest(id: string): Promise<boolean>;
  /** Undefined if there is none; throws if the store cannot be read. */
  readNote(name: NoteName): Promise<string | undefined>;
  /** Stores a note durably; replaces an earlier one. */
  writeNote(name: NoteName, text: string): Promise<void>;
  ping(): Promise<void>;
}
