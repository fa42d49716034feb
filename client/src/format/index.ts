/**
 * The raw format, for tools and other clients: `@szafa/client/format`. docs/format.md has it to the byte.
 * @packageDocumentation
 */
export {
  checkBag,
  type EntryType,
  type Master,
  openBag,
  openIdentity,
  type ParsedBag,
  type Pin,
  parseBag,
  type Way,
} from './bag.ts';
export { type BagChanges, changeBag, type Keks, makeBag, rekeyBag } from './bag-writer.ts';
export { type Bytes, fromBase64Url, toBase64Url } from './bytes.ts';
export { ed25519PublicKey, ed25519Sign, ed25519Verify } from './ed25519.ts';
export {
  type Engine,
  type KdfParams,
  labels,
  type NameCipher,
  type OpenedSegments,
  type OpenedVolume,
  requireKey,
  type SealedSegments,
  type SealedVolume,
  type VolumeKey,
} from './engine.ts';
export {
  type EncParams,
  type FileSecrets,
  newSecrets,
  type OpenedHeader,
  openHeader,
  openToShare,
  type ParsedHeader,
  parseHeader,
  type ResealedHeader,
  resealHeader,
  sealHeader,
} from './header.ts';
export { HPKE_OVERHEAD, type HpkeContext, hpkeOpen, hpkeSeal, type Psk, x25519PublicKey } from './hpke.ts';
export {
  fingerprintText,
  type Identity,
  type OwnIdentity,
  ownIdentity,
  parseFingerprint,
  parseIdentity,
} from './identity.ts';
export {
  type AccountKeys,
  type AccountName,
  accountSalt,
  deriveAccountKeys,
  PROFILE,
  PROFILES,
} from './keys.ts';
export {
  areVolumeSizes,
  DEFAULT_VOLUME_SIZE,
  extentOf,
  type Layout,
  layoutOf,
  layoutWith,
  MAX_VOLUME_SIZE,
  storedSize,
  streamSizes,
  type VolumeSizes,
  volumeAt,
} from './layout.ts';
export { type Letter, type LetterRoute, openLetter, sealLetter } from './letter.ts';
export {
  type LinkKey,
  linkAccess,
  linkKeyText,
  needsPassphrase,
  openLink,
  type ParsedLink,
  parseLinkHeader,
  parseLinkKey,
  type SealedLink,
  sealLink,
} from './link.ts';
export type { Metadata } from './metadata.ts';
export {
  DIR_NAME_BYTES,
  FILE_NAME_BYTES,
  type ListedName,
  looksSealed,
  type NameBinding,
  type OpenedName,
  openDirName,
  openFileName,
  sealDirName,
  sealFileName,
} from './names.ts';
export { epochOfOwn, openOwn, sealOwn } from './own-share.ts';
export { derivePasskeyKek, PRF_INPUT } from './passkey.ts';
export {
  deriveRecoveryKeys,
  newRecoveryKey,
  parseRecoveryText,
  plainRecoveryText,
  RECOVERY_GROUPS,
  recoveryText,
} from './recovery.ts';
export {
  type DeliveryParams,
  type OpenedRequestHeader,
  type OwnRequestKeys,
  openDelivery,
  openRequestHeader,
  ownRequestKeys,
  parseRequestKey,
  type RequestKey,
  type RequestName,
  requestAccess,
  requestKeyText,
  sealDelivery,
  sealRequest,
} from './request.ts';
export { seal, unseal } from './seal.ts';
export { HEAD_BYTES, SALT_BYTES, SEGMENT_SIZE, sealedSize, TAG_BYTES } from './segments.ts';
export type { ShareContent, SharedFile } from './share-content.ts';
export {
  openHead,
  openSegment,
  openVolume,
  type SealOptions,
  sealVolume,
  totalSha256,
  VERSION,
  type VolumeFault,
  type VolumePlace,
} from './volume.ts';
