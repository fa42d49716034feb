/**
 * The raw format, for tools and other clients: `@szafa/client/format`. docs/format.md has it to the byte.
 * @packageDocumentation
 */
export { type Bytes, fromBase64Url, toBase64Url } from './bytes.ts';
export {
  type Engine,
  type KdfParams,
  labels,
  type OpenedVolume,
  type SealedVolume,
  type VolumeKey,
} from './engine.ts';
export { PIECE_BYTES, sealInPlace } from './gcm-pieces.ts';
export {
  type EncParams,
  type FileSecrets,
  newSecrets,
  type OpenedHeader,
  openHeader,
  type ParsedHeader,
  parseHeader,
  sealHeader,
} from './header.ts';
export { type AccountKeys, accountSalt, checkKdf, deriveAccountKeys, deriveKek, KDF } from './keys.ts';
export type { Metadata } from './metadata.ts';
export {
  DIR_NAME_BYTES,
  FILE_NAME_BYTES,
  looksSealed,
  type NameBinding,
  type OpenedName,
  openDirName,
  openFileName,
  sealDirName,
  sealFileName,
} from './names.ts';
export { makeRing, openRing, type Ring, type RingJson, ringFromJson, ringToJson } from './ring.ts';
export { seal, unseal } from './seal.ts';
export {
  DEFAULT_VOLUME_SIZE,
  extentOf,
  type Layout,
  layoutOf,
  MAX_VOLUME_SIZE,
  storedSize,
  TAG_BYTES,
  totalSha256,
  VERSION,
  volumeKeys,
} from './volume.ts';
