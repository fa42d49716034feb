import type { DirEntry, Entry, Szafa } from '@szafa/client/node';
import { CliError } from './errors.ts';
import type { Output } from './output.ts';
import { oneLine, shorten } from './text.ts';

export const ROOT = '/';

/** What to do with several files of one name in one directory. */
export type Versions = 'newest' | 'refuse';

/** The service gives ids out: one that reads like a name must not be taken for that name. */
const ID = /^[0-9a-f]{32}$/;

const show = (name: string) => `"${shorten(oneLine(name), 120)}"`;

/**
 * A name that is not verified is the service's word, and never stands in for one that is. The entries are of one name;
 * what is left out is said.
 */
export function verifiedFirst(entries: Entry[], out: Output): Entry[] {
  const verified = entries.filter((entry) => entry.verified);
  if (verified.length === 0) return entries;
  for (const { name, fileId, verified: sure } of entries) {
    if (sure) continue;
    const message = `ignoring a file that claims the name ${show(name)} without proof (${oneLine(fileId)})`;
    out.note('not-verified', message, { name, file_id: fileId });
  }
  return verified;
}

/** Finds files and directories by what a person types. Everything is listed once. */
export class Lookup {
  readonly #szafa: Szafa;
  readonly #signal: AbortSignal;
  readonly #lists = new Map<number | undefined, Promise<Entry[]>>();
  readonly #names = new Map<number, Promise<ReadonlyMap<string, Entry[]>>>();
  #dirs: Promise<DirEntry[]> | undefined;

  constructor(szafa: Szafa, signal: AbortSignal) {
    this.#szafa = szafa;
    this.#signal = signal;
  }

  dirs(): Promise<DirEntry[]> {
    this.#dirs ??= this.#szafa.dirs({ signal: this.#signal });
    return this.#dirs;
  }

  /** All files, or those of one directory (0 is the root), in the service's order. */
  list(dirId?: number): Promise<Entry[]> {
    let list = this.#lists.get(dirId);
    if (!list) {
      list = this.#szafa.list({ dirId, signal: this.#signal });
      this.#lists.set(dirId, list);
    }
    return list;
  }

  /** The same list by name: with thousands of files nobody can look through it for each of them. */
  byName(dirId: number): Promise<ReadonlyMap<string, Entry[]>> {
    let names = this.#names.get(dirId);
    if (!names) {
      names = this.list(dirId).then((entries) => Map.groupBy(entries, ({ name }) => name));
      this.#names.set(dirId, names);
    }
    return names;
  }

  async findDir(name: string): Promise<DirEntry | undefined> {
    const found = (await this.dirs()).filter((dir) => dir.name === name);
    return found.find((dir) => dir.verified) ?? found[0];
  }

  async dir(name: string): Promise<DirEntry> {
    const found = await this.findDir(name);
    if (found) return found;
    const hint = 'szafa ls shows the directories, szafa mkdir creates one';
    throw new CliError('no-directory', `there is no directory ${show(name)}`, hint);
  }

  /** 0 is the root. */
  async dirId(name: string): Promise<number> {
    return name === ROOT ? 0 : (await this.dir(name)).dirId;
  }

  async dirName(dirId: number | null): Promise<string> {
    if (!dirId) return '';
    return (await this.dirs()).find((dir) => dir.dirId === dirId)?.name ?? '';
  }

  /** The file of this id, or of this name: in the directory, or anywhere. */
  async file(text: string, dir: string | undefined, versions: Versions, out: Output): Promise<Entry> {
    const entries = await this.list(dir === undefined ? undefined : await this.dirId(dir));
    const named = entries.filter((entry) => entry.name === text);
    const byId = ID.test(text) ? entries.find((entry) => entry.fileId === text) : undefined;
    const sure = (some: Entry[]) => some.some((entry) => entry.verified);
    if (byId && !sure(named)) return byId;
    const below = sure(named) ? [] : await this.#below(text, entries);
    const found = verifiedFirst(sure(below) || named.length === 0 ? below : named, out);
    const [first, ...others] = found;
    if (!first) throw this.#missing(text, entries);
    if (others.length === 0) return first.verified ? first : this.#newest(found);
    const oneDir = others.every((entry) => entry.dirId === first.dirId);
    if (versions === 'newest' && oneDir) {
      const newest = await this.#newest(found);
      out.note('versions', `${found.length} files are called ${show(text)}; the newest is taken`, {
        file_ids: found.map(({ fileId }) => fileId),
      });
      return newest;
    }
    const ids = await Promise.all(
      found
        .slice(0, 4)
        .map(async (entry) => `${entry.fileId} in /${oneLine(await this.dirName(entry.dirId))}`),
    );
    const message = `${found.length} files are called ${show(text)}: ${ids.join(', ')}`;
    const paths = await Promise.all(
      found.map(async (entry) => `${await this.dirName(entry.dirId)}/${entry.name}`),
    );
    const each = [...new Set(paths)].slice(0, 4).map(oneLine).join(' or ');
    const hint = oneDir ? 'name one by its ID' : `write ${each}, or name one by its ID`;
    throw new CliError('ambiguous', message, hint);
  }

  /** By the time sealed into each. A plain name is proved by this as well: the file must say that it is its own. */
  async #newest(found: Entry[]): Promise<Entry> {
    const [first] = found;
    // Without keys there is nothing to prove it by, and nothing that could be read either.
    if (!this.#szafa.keys.unlocked) return first!;
    const versions = await this.#szafa.versions(found, { signal: this.#signal });
    const problem = versions.find((version) => version.problem)?.problem;
    if (problem) throw problem;
    return versions[0]?.entry ?? first!;
  }

  /** `DIRECTORY/NAME`; names may have slashes of their own, directories not. */
  async #below(text: string, entries: Entry[]): Promise<Entry[]> {
    const slash = text.indexOf('/');
    if (slash < 0) return [];
    const dir = slash === 0 ? undefined : await this.findDir(text.slice(0, slash));
    if (slash > 0 && !dir) return [];
    const dirId = dir?.dirId ?? null;
    return entries.filter((entry) => entry.name === text.slice(slash + 1) && (entry.dirId || null) === dirId);
  }

  #missing(text: string, entries: Entry[]): Error {
    // With a wrong passphrase no name can be read, and "not there" would be misleading.
    const locked = entries.find((entry) => entry.problem?.code === 'wrong-password');
    if (locked) return locked.problem!;
    return new CliError('no-file', `there is no file ${show(text)}`, 'szafa ls shows names and IDs');
  }
}
