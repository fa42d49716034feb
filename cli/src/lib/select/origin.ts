import { createHash } from 'node:crypto';
import { basename, resolve, sep } from 'node:path';
import type { Entry, Szafa } from '@szafa/client/node';
import type { Output } from '../print/output.ts';
import { oneLine } from '../print/text.ts';

/** The service takes 12 KiB of metadata, which name and source have to share. */
const MOST_BYTES = 3000;
const DIGEST = 'sha256:';

/** What is sealed about where a file came from: its path; of one that is too long, enough to know it again. */
export function sealedSource(path: string, name: string): string {
  const whole = resolve(path).split(sep).join('/');
  if (Buffer.byteLength(whole) + Buffer.byteLength(name) <= MOST_BYTES) return whole;
  return DIGEST + createHash('sha256').update(whole).digest('hex');
}

/** A folder that is being uploaded. */
export interface Source {
  /** Its path here, and the beginning of the paths on the service. */
  path: string;
  prefix: string;
}

/** Says when files from another place go beside those that are there: once for each place. */
export class Origins {
  readonly #szafa: Szafa;
  readonly #out: Output;
  readonly #looked = new Set<string>();
  readonly #told = new Set<string>();

  constructor(szafa: Szafa, out: Output) {
    this.#szafa = szafa;
    this.#out = out;
  }

  /** One look at the folder that a folder goes into: at a file there that is not one of its own. */
  async look(
    from: Source,
    there: Iterable<Entry>,
    own: (path: string) => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#looked.has(from.path)) return;
    this.#looked.add(from.path);
    const other = [...there].find(({ path, verified }) => verified && !own(path));
    if (!other) return;
    // What cannot be opened says nothing about where it is from; whoever needs the file will hear why.
    const options = { record: other.record, headOnly: true, signal };
    const remote = await this.#szafa.openFile(other.fileId, options).catch(() => undefined);
    signal.throwIfAborted();
    const { source } = remote?.metadata ?? {};
    if (source === undefined) return;
    const root = rootOf(source, from, other.path);
    // Files that were put there one by one are no other folder.
    if (basename(root) === basename(from.path)) this.#tell(other.path, root, from);
  }

  /** A file of this path came from `elsewhere`, and now one comes from `here`. */
  tell(path: string, from: Source | undefined, elsewhere: string, here: string): void {
    if (from) this.#tell(path, rootOf(elsewhere, from, path), from);
    else this.#note(`${oneLine(path)} is already there from ${shown(elsewhere)}`, path, elsewhere, here);
  }

  #tell(path: string, root: string, { path: here }: Source): void {
    this.#note(`the folder has files from ${shown(root)}`, path, root, here);
  }

  #note(what: string, name: string, there: string, here: string): void {
    const pair = `${there}\0${here}`;
    if (there === here || this.#told.has(pair)) return;
    this.#told.add(pair);
    const message = `${what}; what comes from ${shown(here)} becomes a new version, unless it is the same`;
    this.#out.note('other-source', message, { name, source: here, other_source: there });
  }
}

const shown = (place: string) => (place.startsWith(DIGEST) ? 'another place' : oneLine(place));

/** The folder that a file of a tree was in when it was uploaded; its own path where it was not uploaded with one. */
function rootOf(source: string, { prefix }: Source, path: string): string {
  const below = `/${path.slice(prefix.length)}`;
  return source.endsWith(below) ? source.slice(0, -below.length) : source;
}
