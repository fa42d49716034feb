/**
 * Links: whoever has one opens the files of a share, without an account. What the service keeps is the header; what it never
 * gets is behind the `#` of the address: the secret, and the digest that makes the header the only one.
 */
import { type Bytes, concat, equal, pairIn, toBase64Url, utf8 } from './bytes.ts';
import { EMPTY, type Engine, labels } from './engine.ts';
import { PassphraseError, TamperedError, UnsupportedError } from './errors.ts';
import { PROFILE, profileOf } from './keys.ts';
import { SEAL_OVERHEAD, seal, unseal } from './seal.ts';
import { contentText, parseContent, type ShareContent } from './share-content.ts';

const SUITE = 1;
const SECRET = 32;
const DIGEST = 16;
const SALT = 16;
/** Suite, profile and salt. */
const BEFORE_SEAL = 2 + SALT;
/** Of a link without a passphrase, in place of a profile; its salt is zeros. */
const NO_PASSPHRASE = 0;

/** What stands behind the `#` of a link. @public */
export interface LinkKey {
  secret: Bytes;
  /** The first bytes of SHA-256 of the header. */
  digest: Bytes;
}

/** A header that is the link's own, before its key was tried. @public */
export interface ParsedLink {
  salt: Bytes;
  /** KDF profile of the passphrase; 0: there is none. */
  profile: number;
  sealed: Bytes;
}

/** @public */
export interface SealedLink {
  header: Bytes;
  key: LinkKey;
}

/** What a visitor shows to the service: that the link is known, and nothing of what it opens. @public */
export async function linkAccess(engine: Engine, { secret }: LinkKey): Promise<Bytes> {
  return engine.hkdf(secret, EMPTY, utf8(labels.linkAccess), 32);
}

async function keyOf(
  engine: Engine,
  { secret }: Pick<LinkKey, 'secret'>,
  { profile, salt }: Pick<ParsedLink, 'profile' | 'salt'>,
  passphrase: string | undefined,
): Promise<Bytes> {
  if (profile === NO_PASSPHRASE) return engine.hkdf(secret, salt, utf8(labels.link), 32);
  if (passphrase === undefined) throw new PassphraseError(false);
  const stretched = await engine.argon2id(utf8(passphrase.normalize('NFC')), salt, profileOf(profile));
  return engine.hkdf(concat(secret, stretched), salt, utf8(labels.link), 32);
}

async function digestOf(engine: Engine, header: Bytes): Promise<Bytes> {
  return (await engine.sha256(header)).slice(0, DIGEST);
}

/** A new link for these files. Random bytes are drawn in this order: secret, salt (with a passphrase), seal. @public */
export async function sealLink(
  engine: Engine,
  content: ShareContent,
  passphrase?: string | undefined,
): Promise<SealedLink> {
  const secret = engine.random(SECRET);
  const protectedBy =
    passphrase === undefined
      ? { profile: NO_PASSPHRASE, salt: new Uint8Array(SALT) }
      : { profile: PROFILE, salt: engine.random(SALT) };
  const key = await keyOf(engine, { secret }, protectedBy, passphrase);
  const sealed = await seal(engine, key, labels.link, contentText(content));
  const header = concat(Uint8Array.of(SUITE, protectedBy.profile), protectedBy.salt, sealed);
  return { header, key: { secret, digest: await digestOf(engine, header) } };
}

/** Everything that can be checked without the passphrase: that this is the header that the link was made with. @public */
export async function parseLinkHeader(
  engine: Engine,
  header: Bytes,
  { digest }: LinkKey,
): Promise<ParsedLink> {
  if (!equal(await digestOf(engine, header), digest)) {
    throw new TamperedError('link', 'what the server gives is not what this link was made for');
  }
  const [suite, profile] = header;
  if (suite !== SUITE) throw new UnsupportedError('suite', `suite ${suite} is unknown to this client`);
  if (header.length < BEFORE_SEAL + SEAL_OVERHEAD) throw new TamperedError('link', 'the header is cut off');
  const salt = header.slice(2, BEFORE_SEAL);
  if (profile !== NO_PASSPHRASE) profileOf(profile!);
  else if (salt.some((byte) => byte !== 0)) throw new TamperedError('link', 'the salt is not zeros');
  return { profile: profile!, salt, sealed: header.slice(BEFORE_SEAL) };
}

/** @public */
export const needsPassphrase = ({ profile }: ParsedLink): boolean => profile !== NO_PASSPHRASE;

/** What is shared. The file keys are held by the engine. @public */
export async function openLink(
  engine: Engine,
  parsed: ParsedLink,
  key: LinkKey,
  passphrase?: string | undefined,
): Promise<ShareContent> {
  const opener = await keyOf(engine, key, parsed, passphrase);
  const opened = await unseal(engine, opener, labels.link, parsed.sealed);
  // The header is the right one: so it is the passphrase.
  if ('fault' in opened && opened.fault === 'commitment' && needsPassphrase(parsed))
    throw new PassphraseError(true);
  if (!('plain' in opened))
    throw new TamperedError('link-key', 'the secret of this link does not open its header');
  const content = parseContent(opened.plain);
  for (const file of content.files) file.fileKey = await engine.hold(file.fileKey);
  return content;
}

/** @public */
export function linkKeyText({ secret, digest }: LinkKey): string {
  return toBase64Url(concat(secret, digest));
}

/** Undefined where a text is no key of a link. @public */
export function parseLinkKey(text: string): LinkKey | undefined {
  const [secret, digest] = pairIn(text, SECRET, DIGEST) ?? [];
  return secret && digest && { secret, digest };
}
