import { createHash } from 'node:crypto';
import { basename, resolve, sep } from 'node:path';
import type { Entry, Szafa } from '@szafa/client/node';
import type { Invocation } from '../../command.ts';
import { oneLine } from '../print/text.ts';

/** The server takes 12 KiB of metadata, which name and source share. */
const MOST_BYTES = 3000;
const DIGEST = 'sha256:';

/** The source that is sealed with a file: its local path, or a digest of one that is too long. */
export function sealedSource(path: string, name: string): string {
  const whole = resolve(path).split(sep).join('/');
  if (Buffer.byteLength(whole) + Buffer.byteLength(name) <= MOST_BYTES) return whole;
  return DIGEST + createHash('sha256').update(whole).digest('hex');
}

/** A folder that is being uploaded. */
export interface SourceFolder {
  path: string;
  /** The beginning of the paths on the server. */
  prefix: string;
}

export type Origins = ReturnType<typeof createOrigins>;

/** Reports uploads into a folder that has files from another place, once for each place. */
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
    /** Looks at one file of the folder on the server that is not among the uploaded ones. */
    async checkFolder(from: SourceFolder, there: Iterable<Entry>, isUploaded: (path: string) => boolean) {
      if (checked.has(from.path)) return;
      checked.add(from.path);
      const other = [...there].find(({ path, verified }) => verified && !isUploaded(path));
      if (!other) return;
      const options = { record: other.record, headOnly: true, signal };
      // A file that cannot be opened does not tell its source; reading it will report the error.
      const remote = await szafa.openFile(other.fileId, options).catch(() => undefined);
      signal.throwIfAborted();
      const { source } = remote?.metadata ?? {};
      if (source === undefined) return;
      const root = rootOf(source, from, other.path);
      // Files that were uploaded one by one do not make another folder.
      if (basename(root) === basename(from.path)) noteFolder(other.path, root, from);
    },

    /** Reports that a file of this path came from `elsewhere`, and one from `here` is uploaded. */
    report(path: string, from: SourceFolder | undefined, elsewhere: string, here: string): void {
      if (from) noteFolder(path, rootOf(elsewhere, from, path), from);
      else note(`${oneLine(path)} is already there from ${shown(elsewhere)}`, path, elsewhere, here);
    },
  };
}

const shown = (place: string) => (place.startsWith(DIGEST) ? 'another place' : oneLine(place));

/** The folder that a file was uploaded with; its own path if it was uploaded alone. */
function rootOf(source: string, { prefix }: SourceFolder, path: string): string {
  const below = `/${path.slice(prefix.length)}`;
  return source.endsWith(below) ? source.slice(0, -below.length) : source;
}
