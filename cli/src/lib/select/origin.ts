import { createHash } from 'node:crypto';
import { basename, resolve, sep } from 'node:path';
import type { Entry, Szafa } from '@szafa/client/node';
import type { Invocation } from '../../command.ts';
import { oneLine } from '../print/text.ts';

/** Most bytes of name and source together: they share the 12 KiB of metadata that the server accepts. */
const MOST_BYTES = 3000;
const DIGEST = 'sha256:';

/** Returns the source to seal with a file: its local path, or a digest if the path is too long. */
export function sealedSource(path: string, name: string): string {
  const whole = resolve(path).split(sep).join('/');
  if (Buffer.byteLength(whole) + Buffer.byteLength(name) <= MOST_BYTES) return whole;
  return DIGEST + createHash('sha256').update(whole).digest('hex');
}

/** A local folder that is being uploaded. */
export interface SourceFolder {
  path: string;
  /** The folder's path on the server, ending in `/`. */
  prefix: string;
}

export type Origins = ReturnType<typeof createOrigins>;

/** Notes uploads into a folder that has files from another local path, once per pair of paths. */
export function createOrigins(szafa: Szafa, { out, signal }: Invocation) {
  const checked = new Set<string>();
  const reported = new Set<string>();
  const note = (what: string, name: string, there: string, here: string) => {
    const pair = `${there}\0${here}`;
    if (there === here || reported.has(pair)) return;
    reported.add(pair);
    const message = `${what}; files from ${shown(here)} become new versions, unless they are the same`;
    out.note('other-source', message, { name, source: here, other_source: there });
  };
  const noteFolder = (path: string, root: string, { path: here }: SourceFolder) =>
    note(`the folder has files from ${shown(root)}`, path, root, here);
  return {
    /** Checks where the folder on the server came from, using one of its files that this command does not upload. */
    async checkFolder(from: SourceFolder, there: Iterable<Entry>, isUploaded: (path: string) => boolean) {
      if (checked.has(from.path)) return;
      checked.add(from.path);
      const other = [...there].find(({ path, verified }) => verified && !isUploaded(path));
      if (!other) return;
      const options = { record: other.record, headOnly: true, signal };
      // Ignore a file that cannot be opened: reading it later reports the error.
      const remote = await szafa.openFile(other.fileId, options).catch(() => undefined);
      signal.throwIfAborted();
      const { source } = remote?.metadata ?? {};
      if (source === undefined) return;
      const root = rootOf(source, from, other.path);
      // Only a folder of the same name counts: the file may have been uploaded on its own.
      if (basename(root) === basename(from.path)) noteFolder(other.path, root, from);
    },

    /** Notes that the file on the server came from `elsewhere`, while `here` is being uploaded to the same path. */
    report(path: string, from: SourceFolder | undefined, elsewhere: string, here: string): void {
      if (from) noteFolder(path, rootOf(elsewhere, from, path), from);
      else note(`${oneLine(path)} is already there from ${shown(elsewhere)}`, path, elsewhere, here);
    },
  };
}

const shown = (place: string) => (place.startsWith(DIGEST) ? 'another place' : oneLine(place));

/** Returns the local folder that a file was uploaded with, or the file's own path if it was uploaded alone. */
function rootOf(source: string, { prefix }: SourceFolder, path: string): string {
  const below = `/${path.slice(prefix.length)}`;
  return source.endsWith(below) ? source.slice(0, -below.length) : source;
}
