/** The JSON documents stored beside the volumes: manifests and accounts. */
import { limits, type Volume } from '@szafa/protocol';
import { numbersOf, volumeNamed } from './names.ts';
import type { AccountDocument, Manifest, NoteName, VolumeName } from './store.ts';

/** A document in the store does not have the form that the server writes. */
export class BrokenDocument extends Error {
  override name = 'BrokenDocument';
}

function parseDocument<T extends object>(name: string, text: string): T {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new BrokenDocument(`${name} is not a valid document`, { cause });
  }
  if (typeof document !== 'object' || document === null)
    throw new BrokenDocument(`${name} is not a valid document`);
  return document as T;
}

/** Random ids, and fixed words for owners without an account. */
const ACCOUNT_ID = /^[0-9a-z]{1,32}$/;

export const isAccountId = (text: unknown) => typeof text === 'string' && ACCOUNT_ID.test(text);

/** The id of the account whose document has this name; undefined for other names. */
export function accountIdIn(name: string): string | undefined {
  const id = name.endsWith('.json') ? name.slice(0, -'.json'.length) : '';
  return isAccountId(id) ? id : undefined;
}

/** The volumes of a group as stored in a manifest: less than half the bytes of a list of objects. */
interface PackedVolumes {
  /** All SHA-256 digests, concatenated, in Base64. */
  digests: string;
  /** Run-length encoded sizes. */
  sizes: [size: number, count: number][];
}

const DIGEST_BYTES = 32;

export function packVolumes(volumes: Volume[]): PackedVolumes {
  const sizes: [number, number][] = [];
  for (const { size } of volumes) {
    const last = sizes.at(-1);
    if (last?.[0] === size) last[1]++;
    else sizes.push([size, 1]);
  }
  const digests = Buffer.from(volumes.map(({ sha256 }) => sha256).join(''), 'hex').toString('base64');
  return { digests, sizes };
}

export function unpackVolumes(document: PackedVolumes): Volume[] {
  if (!isPacked(document)) throw new BrokenDocument('the list of volumes in a manifest is malformed');
  const digests = Buffer.from(document.digests, 'base64').toString('hex');
  const volumes: Volume[] = [];
  for (const [size, count] of document.sizes) {
    for (let i = 0; i < count; i++) {
      const at = volumes.length * DIGEST_BYTES * 2;
      volumes.push({ idx: volumes.length + 1, size, sha256: digests.slice(at, at + DIGEST_BYTES * 2) });
    }
  }
  return volumes;
}

/** Formats a manifest for the store. */
export const formatManifest = (manifest: Manifest) =>
  JSON.stringify({ ...manifest, volumes: packVolumes(manifest.volumes) });

function isPacked(document: PackedVolumes | undefined): document is PackedVolumes {
  const { digests, sizes } = document ?? {};
  if (typeof digests !== 'string' || !Array.isArray(sizes)) return false;
  let total = 0;
  for (const entry of sizes) {
    if (!Array.isArray(entry) || !Number.isSafeInteger(entry[1]) || entry[1] < 1) return false;
    total += entry[1];
  }
  return total <= limits.volumesPerFile && Buffer.byteLength(digests, 'base64') === total * DIGEST_BYTES;
}

/** The small text files of a volume store, by path. */
export interface TextStore {
  manifestPath(id: string): string;
  accountPath(fileName: string): string;
  notePath(name: NoteName): string;
  /** Returns undefined if there is no such text. */
  read(path: string): Promise<string | undefined>;
  /** Writes durably and replaces an earlier text. */
  write(path: string, text: string): Promise<unknown>;
  /** Removes durably. May be repeated. */
  remove(path: string): Promise<void>;
}

/** The part of a volume store that all engines share: documents and volume names. */
export abstract class DocumentStore {
  protected readonly texts: TextStore;

  constructor(texts: TextStore) {
    this.texts = texts;
  }

  /** Lists the names in a group. */
  protected abstract names(id: string): Promise<string[]>;
  abstract remove(id: string): Promise<void>;

  async received(id: string): Promise<number[]> {
    return numbersOf(await this.names(id));
  }

  async list(id: string): Promise<VolumeName[]> {
    return (await this.names(id)).flatMap((name) => volumeNamed(name) ?? []);
  }

  discard(id: string): Promise<void> {
    return this.remove(id);
  }

  async manifest(id: string): Promise<Manifest | undefined> {
    type Stored = Omit<Manifest, 'volumes'> & { volumes: PackedVolumes };
    const stored = await this.#read<Stored>(this.texts.manifestPath(id));
    return stored && { ...stored, volumes: unpackVolumes(stored.volumes) };
  }

  async writeManifest(manifest: Manifest): Promise<void> {
    await this.texts.write(this.texts.manifestPath(manifest.file_id), formatManifest(manifest));
  }

  async removeManifest(id: string): Promise<void> {
    await this.texts.remove(this.texts.manifestPath(id));
  }

  async account(accountId: string): Promise<AccountDocument | undefined> {
    return this.#read(this.#accountPath(accountId));
  }

  async writeAccount(account: AccountDocument): Promise<void> {
    await this.texts.write(this.#accountPath(account.account_id), JSON.stringify(account));
  }

  async removeAccount(accountId: string): Promise<void> {
    await this.texts.remove(this.#accountPath(accountId));
  }

  async readNote(name: NoteName): Promise<string | undefined> {
    return (await this.texts.read(this.texts.notePath(name)))?.trim();
  }

  async writeNote(name: NoteName, text: string): Promise<void> {
    await this.texts.write(this.texts.notePath(name), `${text}\n`);
  }

  #accountPath(id: string): string {
    if (!isAccountId(id)) throw new TypeError('not the id of an account');
    return this.texts.accountPath(`${id}.json`);
  }

  async #read<T extends object>(path: string): Promise<T | undefined> {
    const text = await this.texts.read(path);
    return text === undefined ? undefined : parseDocument<T>(path, text);
  }
}
