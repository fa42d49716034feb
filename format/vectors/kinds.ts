import type { Metadata } from '../../client/src/index.ts';
import type { EncParams, OpenedName } from '../src/index.ts';

/** A master key in hex. */
export interface MasterJson {
  epoch: number;
  key: string;
}

/** What opening must come to: the plaintext, or the class of the error and the stage at which it showed. */
export type Expected = { metadata: Metadata; plain: string } | { stage: string; code: string };

export interface FileVector {
  name: string;
  /** The one thing that is wrong. */
  about: string;
  /** Those that the reader has, newest first. */
  masters: MasterJson[];
  enc_params: Record<string, unknown>;
  /** The value of X-Chunk-Count. */
  chunk_count: string;
  record: { file_name: string; size: number; sha256: string; chunk_count: number };
  /** base64url: the digests of the volumes as the service lists them. */
  digests: string;
  /** Of the reader's key bag, where it is not 1. */
  floor?: number;
  /** The highest `rev` of this file that the reader has seen. */
  seen_rev?: number;
  /** base64url, in the order in which the service gives them. */
  volumes: string[];
  expect: Expected;
}

export interface KdfVector {
  name: string;
  service_id: string;
  username: string;
  password: string;
  profile: number;
  auth_secret: string;
  kek: string;
}

export interface SealVector {
  name: string;
  key: string;
  label: string;
  sealed: string;
  expect: { plain: string } | { fault: string };
}

export interface NameVector {
  name: string;
  kind: 'file' | 'dir';
  key: string;
  text: string;
  total_sha256?: string;
  size?: number;
  chunk_count?: number;
  /** What a writer was given, where the text is what it makes of it. */
  given?: string;
  /** A directory has no `rev`, `gen` and `added`: 0. */
  expect: OpenedName | null;
}

export interface BagVector {
  name: string;
  about: string;
  /** Of the reader, in hex but for the username. */
  service_id: string;
  username: string;
  kek: string;
  /** The KEK of a recovery key, where the reader comes with one. */
  recovery?: string;
  /** That of a passkey, and its id in base64url, likewise. */
  passkey?: { id: string; kek: string };
  /** Of the newest bag that it has seen. */
  pin?: { rev: number; digest: string };
  bag: string;
  expect:
    | {
        rev: number;
        digest: string;
        masters: MasterJson[];
        x25519: string;
        ed25519: string;
        /** Where it is not 1. */
        floor?: number;
      }
    | { stage: string; code: string };
}

/** A recovery key as a person types it. */
export interface RecoveryVector {
  name: string;
  service_id: string;
  username: string;
  typed: string;
  /** Null where it is none. */
  expect: { key: string; text: string; auth_secret: string; kek: string } | null;
}

/** What a passkey's authenticator made of `szafa/v1/prf`. */
export interface PasskeyVector {
  name: string;
  service_id: string;
  username: string;
  secret: string;
  expect: { kek: string };
}

/** A bag, from random bytes that are drawn in this order (hex): the first one, or one in the place of `before`. */
export interface BagWriterVector {
  name: string;
  kind: 'first' | 'change' | 'rekey';
  service_id: string;
  username: string;
  /** Of the password and the recovery key from now on. */
  kek?: string;
  recovery?: string;
  /** Gets an entry. */
  passkey?: { id: string; kek: string };
  /** Only these passkeys stay. */
  keep?: string[];
  /** Master keys of earlier epochs are retired. */
  floor?: number;
  before?: { bag: string; kek: string };
  random: string[];
  expect: { bag: string };
}

/** What a writer must come to: everything about a file that leaves it no choice. */
export interface WriterVector {
  name: string;
  file_key: string;
  file_id: string;
  master: string;
  epoch: number;
  metadata: Metadata;
  plain: string;
  volume_size: number;
  /** Of each volume, hex. */
  salts: string[];
  /** The r of the sealed file key, and that of the sealed metadata, hex. */
  random: string[];
  /** The master key, and the same two, by which the header is sealed anew. */
  next: { master: string; epoch: number; random: string[] };
  expect: {
    volumes: string[];
    total_sha256: string;
    file_size: number;
    chunk_count: number;
    /** As it stands in the record. */
    file_name: string;
    /** With the keys in the order of the document, and no blanks. */
    enc_params: EncParams;
    resealed: { file_name: string; enc_params: EncParams };
  };
}

export interface LayoutVector {
  size: number;
  wish?: number;
  /** The length was not known before the end. */
  stream?: boolean;
  volume_size: number;
  late_volume_size: number;
  volume_count: number;
  /** Of the last volume. */
  last: { offset: number; length: number };
  stored_size: number;
}

/** One change of bytes: flip a bit, cut to a length, add zeros, let two places change their bytes, repeat some at another place. */
export type Change =
  | { flip: number }
  | { cut: number }
  | { add: number }
  | { swap: [one: number, other: number, length: number] }
  | { copy: [from: number, to: number, length: number] };

/** What a reader takes a volume for, and what a writer made it for. */
export interface VolumeSpot {
  file_id: string;
  idx: number;
  is_last: boolean;
  /** Of the plaintext, whose byte k is k mod 251. */
  length: number;
}

export interface VolumeVector {
  name: string;
  about: string;
  file_key: string;
  salt: string;
  written: VolumeSpot;
  /** SHA-256 of the volume as it was written. */
  sha256: string;
  /** The volume itself, base64url, where it is short. */
  sealed?: string;
  changes?: Change[];
  /** Where it differs from what was written. */
  read?: Partial<VolumeSpot>;
  expect: 'opens' | 'length' | 'commitment' | 'tag';
}
