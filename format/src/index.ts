/**
 * The encryption format of szafa; docs/format.md specifies it to the byte.
 * @packageDocumentation
 */

export * from './bag.ts';
export * from './bag-writer.ts';
export * from './bytes.ts';
export * from './ed25519.ts';
export * from './engine.ts';
export * from './errors.ts';
export * from './header.ts';
export * from './hpke.ts';
export * from './identity.ts';
export * from './json.ts';
export * from './keys.ts';
export * from './layout.ts';
export * from './metadata.ts';
export * from './names.ts';
export * from './seal.ts';
export * from './segments.ts';
export * from './sharing/letter.ts';
export * from './sharing/link.ts';
export * from './sharing/request.ts';
export * from './sharing/share.ts';
export * from './thumbnail.ts';
export * from './volume.ts';
