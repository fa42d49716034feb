import type { Writable } from 'node:stream';
import type { AccountLimits, Volume } from '@szafa/protocol';
import type { Body } from './body.ts';

/** The record of a file, stored beside its volumes so that the database can be rebuilt. */
export interface Manifest {
  file_id: string;
  file_name: string;
  size: number;
  sha256: string;
  /** The owner's account. Unlike a username, an id never belongs to another account later. */
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
  /** All volumes, in order. */
  volumes: Volume[];
}

/** An account, stored so that the database can be rebuilt: its user can log in with the same password. */
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

/** Identifies a volume. The name in the store contains both fields, so that a body never replaces a different one. */
export type VolumeName = Pick<Volume, 'idx' | 'sha256'>;

/** Notes in the store: its own id, the server's id, and the database that used it last. */
export type NoteName = 'store-id' | 'service-id' | 'store-mark';

/** A volume open for reading. Always `close` it. */
export interface OpenVolume {
  readonly size: number;
  /** Sends the bytes from `start` up to, but not including, `end`; resolves when the sink has taken them. */
  send(sink: Writable, start: number, end: number): Promise<void>;
  close(): Promise<void>;
}

/** Where nginx finds a volume, relative to its location for this kind of store. */
export interface VolumePlace {
  kind: 'folder' | 's3';
  /** A URL path, with a query if the store needs one. */
  path: string;
  size: number;
}

/**
 * Stores volumes in groups: one group for each file, with the same id from init to deletion. A volume is stored once its
 * verified bytes have their final name. The name consists of number and digest, so that each volume can be checked on its
 * own. Volumes are numbered from 1; number 0 is the thumbnail, which `received` omits. Ids come from the server, never from a
 * request.
 */
export interface VolumeStore {
  /** Creates a group. May be repeated. */
  create(id: string): Promise<void>;
  /**
   * Stores a volume. When this resolves, the verified bytes are durable. Throws VolumeRejected, which leaves no trace, or
   * GroupGone.
   */
  put(id: string, volume: Volume, body: Body): Promise<void>;
  /**
   * Removes a volume unless `isRight` accepts it; keeps one that has arrived again in the meantime. Returns true if the
   * volume is gone.
   */
  withdraw(
    id: string,
    volume: VolumeName,
    isRight: (volume: OpenVolume) => Promise<boolean>,
  ): Promise<boolean>;
  /** The numbers of the stored volumes, ascending. */
  received(id: string): Promise<number[]>;
  /** The stored volumes, unordered; several may have the same number. */
  list(id: string): Promise<VolumeName[]>;
  /** Stores the manifest durably, which makes the group a file. May be repeated. */
  writeManifest(manifest: Manifest): Promise<void>;
  /** Stores a new group of one volume and its manifest, durably. After a failure, call `discard`. */
  putFile(manifest: Manifest, volume: Volume, body: Body): Promise<void>;
  /** Removes only the manifest. May be repeated. */
  removeManifest(id: string): Promise<void>;
  /** Stores the document of an account durably and replaces an earlier one. */
  writeAccount(account: AccountDocument): Promise<void>;
  /** Removes the document of an account. May be repeated. */
  removeAccount(accountId: string): Promise<void>;
  /** The ids of all accounts with a document, unordered. */
  accounts(): AsyncIterable<string>;
  account(accountId: string): Promise<AccountDocument | undefined>;
  /** Reads the manifest; undefined if the group is not a file. */
  manifest(id: string): Promise<Manifest | undefined>;
  /** Opens a volume; undefined if it is not stored. `whole`: the whole volume will be sent, so the store may start reading it. */
  open(id: string, volume: VolumeName, whole?: boolean): Promise<OpenVolume | undefined>;
  /** Returns where nginx finds the volume, without checking that it exists. */
  locate(id: string, volume: Volume): VolumePlace;
  /** Copies volumes of a group to a new group, durably. */
  copy(from: string, to: string, volumes: Volume[]): Promise<void>;
  /** Whether `received` is slow with thousands of volumes. */
  readonly listsSlowly?: boolean;
  /** Whether removal is all or nothing, so that a failed one has removed nothing. */
  readonly removesAtOnce: boolean;
  /** Makes the whole group unreadable. May be repeated. */
  remove(id: string): Promise<void>;
  /** Like `remove`, for a group that is not in the database yet. Also allowed while the server is read-only. */
  discard(id: string): Promise<void>;
  /**
   * Frees the space of removed groups. Keeps groups that are files in the database, which may have been restored from a time
   * before the removal.
   */
  reclaim(areFiles: (ids: string[]) => Promise<Set<string>>): Promise<void>;
  /** All groups with an id greater than `after`, in order. */
  groups(after?: string): AsyncIterable<{ id: string; changedAt: number }>;
  /** Whether the group has a manifest. */
  hasManifest(id: string): Promise<boolean>;
  /** Returns undefined if there is no such note; throws if the store cannot be read. */
  readNote(name: NoteName): Promise<string | undefined>;
  /** Stores a note durably and replaces an earlier one. */
  writeNote(name: NoteName, text: string): Promise<void>;
  ping(): Promise<void>;
}
