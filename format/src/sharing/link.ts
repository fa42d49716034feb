/**
 * Links open the files of a share without an account. The server keeps the header, but never sees the part of the address after the `#`:
 * the secret, and a digest of the header.
 */
import { type Bytes, concat, equal, isZero, splitPair, toBase64Url, utf8 } from '../bytes.ts';
import { deriveKey, type Engine, labels } from '../engine.ts';
import { PassphraseError, requireSuite, TamperedError } from '../errors.ts';
import { PROFILE, profileOf } from '../keys.ts';
import { SEAL_OVERHEAD, seal, unseal } from '../seal.ts';
import { contentText, parseContent, type ShareContent } from './share.ts';

const SUITE = 1;
const SECRET = 32;
const DIGEST = 16;
const SALT = 16;
/** Suite, profile and salt. */
const BEFORE_SEAL = 2 + SALT;
/** The profile number of a link without a passphrase; its salt is zeros. */
const NO_PASSPHRASE = 0;

/** The part of a link after the `#`. @public */
export interface LinkKey {
  secret: Bytes;
  /** The first bytes of SHA-256 of the header. */
  digest: Bytes;
}

/** A header whose digest matches the link, before any key was tried. @public */
export interface ParsedLink {
  salt: Bytes;
  /** KDF profile of the passphrase; 0 if there is none. */
  profile: number;
  sealed: Bytes;
}

/** @public */
export interface SealedLink {
  header: Bytes;
  key: LinkKey;
}

/** Derives the token that proves to the server that a visitor has the link; it opens nothing. @public */
export const linkAccess = async (engine: Engine, { secret }: LinkKey): Promise<Bytes> =>
  deriveKey(engine, secret, labels.linkAccess);

async function deriveHeaderKey(
  engine: Engine,
  { secret }: Pick<LinkKey, 'secret'>,
  { profile, salt }: Pick<ParsedLink, 'profile' | 'salt'>,
  passphrase: string | undefined,
): Promise<Bytes> {
  if (profile === NO_PASSPHRASE) return deriveKey(engine, secret, labels.link, salt);
  if (passphrase === undefined) throw new PassphraseError(false);
  const stretched = await engine.argon2id(utf8(passphrase.normalize('NFC')), salt, profileOf(profile));
  return deriveKey(engine, concat(secret, stretched), labels.link, salt);
}

async function digestOf(engine: Engine, header: Bytes): Promise<Bytes> {
  return (await engine.sha256(header)).slice(0, DIGEST);
}

/** Creates a link. Draws random bytes in this order: secret, salt (with a passphrase), seal. @public */
export async function sealLink(
  engine: Engine,
  content: ShareContent,
  passphrase?: string | undefined,
): Promise<SealedLink> {
  const secret = engine.random(SECRET);
  const protection =
    passphrase === undefined
      ? { profile: NO_PASSPHRASE, salt: new Uint8Array(SALT) }
      : { profile: PROFILE, salt: engine.random(SALT) };
  const key = await deriveHeaderKey(engine, { secret }, protection, passphrase);
  const sealed = await seal(engine, key, labels.link, contentText(content));
  const header = concat(Uint8Array.of(SUITE, protection.profile), protection.salt, sealed);
  return { header, key: { secret, digest: await digestOf(engine, header) } };
}

/**
 * Checks everything that needs no passphrase.
 * @throws TamperedError at stage `link` if the header does not belong to this link; UnsupportedError for an unknown suite or profile
 * @public
 */
export async function parseLinkHeader(
  engine: Engine,
  header: Bytes,
  { digest }: LinkKey,
): Promise<ParsedLink> {
  if (!equal(await digestOf(engine, header), digest)) {
    throw new TamperedError('link', 'the server returned something else than this link was made for');
  }
  const [suite, profile] = header;
  requireSuite(suite);
  if (header.length < BEFORE_SEAL + SEAL_OVERHEAD) throw new TamperedError('link', 'the header is cut off');
  const salt = header.slice(2, BEFORE_SEAL);
  if (profile !== NO_PASSPHRASE) profileOf(profile!);
  else if (!isZero(salt)) throw new TamperedError('link', 'the salt is not zeros');
  return { profile: profile!, salt, sealed: header.slice(BEFORE_SEAL) };
}

/** @public */
export const needsPassphrase = ({ profile }: ParsedLink): boolean => profile !== NO_PASSPHRASE;

/**
 * Opens the content that a link shares. The engine holds the file keys.
 * @throws PassphraseError if a passphrase is needed or wrong; TamperedError at stage `link-key` or `share` @public
 */
export async function openLink(
  engine: Engine,
  parsed: ParsedLink,
  key: LinkKey,
  passphrase?: string | undefined,
): Promise<ShareContent> {
  const opener = await deriveHeaderKey(engine, key, parsed, passphrase);
  const opened = await unseal(engine, opener, labels.link, parsed.sealed);
  // The digest has proved that the header is right, so the passphrase is wrong.
  if ('fault' in opened && opened.fault === 'commitment' && needsPassphrase(parsed))
    throw new PassphraseError(true);
  if (!('plain' in opened))
    throw new TamperedError('link-key', 'the secret of this link does not open its header');
  const content = parseContent(opened.plain);
  for (const file of content.files) file.fileKey = await engine.hold(file.fileKey);
  return content;
}

/** @public */
export const linkKeyText = ({ secret, digest }: LinkKey): string => toBase64Url(concat(secret, digest));

/** Returns undefined if the text is not the key of a link. @public */
export function parseLinkKey(text: string): LinkKey | undefined {
  const [secret, digest] = splitPair(text, SECRET, DIGEST) ?? [];
  return secret && digest && { secret, digest };
}
