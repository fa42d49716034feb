import type { Writable } from 'node:stream';
import type { AccountLimits, Volume } from '@szafa/protocol';
import type { Body } from './body.ts';

/** The file's record as it is stored beside its volumes, so that the metadata can be rebuilt from them. */
export interface Manifest {
  file_id: string;
  file_name: string;
  size: number;
  sha256: string;
  /** Whose it is: an owner's name may belong to another account one day, the id never does. */
  account_id: string;
  owner: string;
  dir_id: number;
  chunk_count: number;
  created_at: string;
  /** The JSON text as it came. */
  enc_params: string;
  /** Which state of the record this is. */
  rev: number;
  /** Where it is in the trash. */
  trashed_at?: string | undefined;
  /** Where it has one: the volume 0 of the group. */
  thumbnail?: Omit<Volume, 'idx'> | undefined;
  /** All of them, in order. */
  volumes: Volume[];
}

/** An account as it is in the store, for the same purpose: its user can log in with their own password. */
export interface AccountDocument {
  account_id: string;
  username: string;
  /** The administrator has none. */
  password_hash: string | null;
  created_at: string;
  dirs: { dir_id: number; name: string; created_at: string }[];
  /** The key bag, as the client sealed it. */
  keys?: string | undefined;
  /** The public keys that others know it by. */
  identity?: string | undefined;
  /** What the recovery key is known by, where there is one. */
  recovery_hash?: string | undefined;
  /** Where an operator has disabled it. */
  disabled_at?: string | undefined;
  /** Those that an operator has set for it. */
  limits?: Partial<AccountLimits> | undefined;
  rev: number;
}

/** What a volume is found by: its name in the store is made of both, so that no body ever takes another's place. */
export type VolumeName = Pick<Volume, 'idx' | 'sha256'>;

/** What a store says of itself: which one it is, which service it is of, and which database used it last. */
export type NoteName = 'store-id' | 'service-id' | 'store-mark';

/** One volume, open for reading. Always `close` it. */
export interface OpenVolume {
  readonly size: number;
  /** Sends the bytes from `start` up to, not including, `end`; resolves when the sink has taken them. */
  send(sink: Writable, start: number, end: number): Promise<void>;
  close(): Promise<void>;
}

/** Where nginx finds a volume by itself: below its location for stores of this kind. */
export interface VolumePlace {
  kind: 'folder' | 's3';
  /** As in an address, with a query where the store wants one. */
  path: string;
  size: number;
}

/**
 * Keeps volumes in groups, one group for each file, from init to deletion under the same id. A volume is
 * here when its verified bytes are under their final name, which says its number and its digest: it can be checked by itself.
 * Volumes are numbered from 1; number 0 is the thumbnail of a file, which `received` does not tell.
 * Ids come from the service, never from a request.
 */
export interface VolumeStore {
  /** Creates a group. May be repeated. */
  create(id: string): Promise<void>;
  /** Takes one volume. Once it resolves, the verified bytes are durable; a VolumeRejected leaves no trace. */
  put(id: string, volume: Volume, body: Body): Promise<void>;
  /**
   * Withdraws a volume that should not be here, wrong or not wanted, unless it turns out to be right: one that has
   * arrived again meanwhile stays. True when the volume is gone.
   */
  withdraw(
    id: string,
    volume: VolumeName,
    isRight: (volume: OpenVolume) => Promise<boolean>,
  ): Promise<boolean>;
  /** Numbers of the volumes that are here, ascending. */
  received(id: string): Promise<number[]>;
  /** The volumes that are here, in no order; of one number there may be several. */
  list(id: string): Promise<VolumeName[]>;
  /** Makes the group permanent: stores the manifest durably beside the volumes. May be repeated. */
  writeManifest(manifest: Manifest): Promise<void>;
  /**
   * A new group of one volume with its manifest, durably. One that nobody knows of yet: when it fails, `discard` takes
   * away what there is of it.
   */
  putFile(manifest: Manifest, volume: Volume, body: Body): Promise<void>;
  /** Takes the manifest away, and nothing else. May be repeated. */
  removeManifest(id: string): Promise<void>;
  /** Stores the document of an account durably, replacing an earlier one. */
  writeAccount(account: AccountDocument): Promise<void>;
  /** Takes the document of an account away. May be repeated. */
  removeAccount(accountId: string): Promise<void>;
  /** The ids of all accounts that have a document, in no order. */
  accounts(): AsyncIterable<string>;
  account(accountId: string): Promise<AccountDocument | undefined>;
  /** The manifest of a group, of one that is a file. */
  manifest(id: string): Promise<Manifest | undefined>;
  /** Undefined when the volume is not here. `whole`: all of it will be sent, so the store may begin to read. */
  open(id: string, volume: VolumeName, whole?: boolean): Promise<OpenVolume | undefined>;
  /** For another program that may read the store, which finds out whether the volume is there. */
  locate(id: string, volume: Volume): VolumePlace;
  /** Copies these volumes of a group to a new group, durably. */
  copy(from: string, to: string, volumes: Volume[]): Promise<void>;
  /** Whether `received` takes long where there are thousands of volumes. */
  readonly listsSlowly?: boolean;
  /** Whether a removal that fails has removed nothing. */
  readonly removesAtOnce: boolean;
  /** After this nothing of the group can be read. May be repeated. */
  remove(id: string): Promise<void>;
  /** The same for a group that nobody knows of yet, also while the service is read-only. */
  discard(id: string): Promise<void>;
  /** Frees the space of removed groups, except those that are files: they were removed by an earlier state of the database. */
  reclaim(areFiles: (ids: string[]) => Promise<Set<string>>): Promise<void>;
  /** Ids of all groups after that one, in order. */
  groups(after?: string): AsyncIterable<{ id: string; changedAt: number }>;
  /** Whether the group has a manifest. */
  hasManifest(id: string): Promise<boolean>;
  /** Undefined when there is none; a store that cannot be read throws. */
  readNote(name: NoteName): Promise<string | undefined>;
  /** Durably, replacing an earlier one. */
  writeNote(name: NoteName, text: string): Promise<void>;
  ping(): Promise<void>;
}
