import { lstat } from 'node:fs/promises';
import {
  diskPath,
  downloadToFile,
  fileSource,
  type Journal,
  type LocalState,
  localState,
  type ReadableHeader,
  type RemoteFile,
  type Szafa,
  sameContent,
} from '@szafa/client/node';
import type { Invocation } from '../../../command.ts';
import { formatBytes, oneLine } from '../../print/text.ts';
import { type Chosen, isDelivered, openChosen, sealedBelow } from '../../select/selection.ts';
import type { Tally } from '../concurrency.ts';
import type { Progress } from '../progress/progress.ts';
import type { Destination } from './destination.ts';
import { inTheWay, isFolder } from './disk.ts';
import { checkLink, linkState, makeHardLink, makeLink, type WrittenFile, writtenFile } from './links.ts';

/** Everything that is the same for all files of one download. */
export interface Get {
  invocation: Invocation;
  szafa: Szafa;
  progress: Progress;
  destination: Destination;
  parallel: number;
  journal: Journal;
  /** Symbolic links are made last: until then none is in the way of a file. */
  links: Link[];
  /** The first of several names of one file, once it is there. */
  firstNames: Map<string, Promise<WrittenFile | undefined>>;
  tally: Tally;
}

export interface Link {
  file: Chosen;
  remote: RemoteFile;
  target: string;
  path: string;
  /** The same, below the folder that all goes to. */
  below: string;
}

/** By its bytes: sealed again they must have the digests of the header. */
export async function stateByBytes(
  path: string,
  remote: RemoteFile<ReadableHeader>,
  signal: AbortSignal,
): Promise<LocalState> {
  const source = await fileSource(path);
  try {
    return (await sameContent(remote, source, signal)) ? 'same' : 'other';
  } finally {
    await source.close();
  }
}

/** What is at the place of a file. Its bytes decide with --checksum, and where the disk has it by another name. */
export async function stateOf(
  path: string,
  remote: RemoteFile,
  { invocation: { flags, signal }, destination }: Pick<Get, 'invocation' | 'destination'>,
): Promise<LocalState> {
  const state = localState(path, remote.metadata);
  const byBytes = flags.checksum
    ? state !== 'absent' && (await lstat(diskPath(path))).isFile()
    : state === 'same' && destination.hasOtherName(path);
  return byBytes ? stateByBytes(path, remote, signal) : state;
}

/** What `get` says of a file in the end. */
function told(get: Get, { path: from, entry }: Chosen, path: string, size: number) {
  const { out, flags } = get.invocation;
  const fields = { file_id: entry.fileId, from, path };
  return {
    there() {
      get.tally.skipped++;
      out.done('skipped', { ...fields, reason: 'already there' }, `${oneLine(path)} is already there`);
    },
    got(more: Record<string, unknown>, text = '') {
      get.tally.files++;
      get.tally.bytes += size;
      const line = `${oneLine(path)}  ${formatBytes(size)}${text}`;
      if (!flags['dry-run']) out.done('downloaded', { ...fields, size, ...more }, `got ${line}`);
      else out.done('planned', { action: 'download', ...fields, size }, `would get ${line}`);
    },
  };
}

export async function receive(get: Get, file: Chosen): Promise<void> {
  const { invocation, szafa, progress, destination } = get;
  const { flags } = invocation;
  const track = progress.start(file.path, file.entry.size);
  let succeeded = false;
  try {
    // In the order of the files, whichever of them is opened first.
    const claimed = file.entry.verified ? destination.claim(file.below) : undefined;
    const remote = await openChosen(szafa, file, invocation);
    const { link, size } = remote.metadata;
    track.update(0, size);
    const below = sealedBelow(file, remote.metadata);
    const path = claimed !== undefined && below === file.below ? claimed : destination.claim(below);
    if (link !== undefined) get.links.push({ file, remote, target: link, path, below });
    else {
      const write = async (first?: WrittenFile): Promise<boolean> => {
        const state = await stateOf(path, remote, get);
        if (state === 'other' && (!flags.yes || isFolder(path))) throw inTheWay(path);
        const say = told(get, file, path, size);
        if (state === 'same') say.there();
        else if (flags['dry-run']) say.got({});
        if (state === 'same' || flags['dry-run']) return false;
        destination.ensure(below);
        const overwrite = state === 'other';
        if (first && makeHardLink(first, path, overwrite)) {
          say.got({ hardlink: first.path });
          return true;
        }
        return download(get, file, remote, { path, overwrite }, (done, total) => track.update(done, total));
      };
      await asOneFile(get, remote, path, write);
    }
    succeeded = true;
  } finally {
    track.end(succeeded);
  }
}

/**
 * Of the names of one file the first is written, and the others are linked to it. Never to a file that was there before: it may have
 * other bytes, be another user's, or have names elsewhere.
 */
async function asOneFile(
  { firstNames, invocation: { flags } }: Get,
  { metadata }: RemoteFile,
  path: string,
  write: (first?: WrittenFile) => Promise<boolean>,
): Promise<unknown> {
  const { hardlink, size, mtime, nanos, mode } = metadata;
  if (hardlink === undefined || isDelivered(metadata) || flags['dry-run']) return write();
  const key = [hardlink, size, mtime, nanos, mode].join();
  const pending = firstNames.get(key);
  const first = pending && (await pending);
  if (first) return write(first);
  const writing = write();
  const written = (isWritten: boolean) => (isWritten ? writtenFile(path) : undefined);
  firstNames.set(
    key,
    writing.then(written).catch(() => undefined),
  );
  return writing;
}

/** False if another process was quicker. */
async function download(
  get: Get,
  file: Chosen,
  remote: RemoteFile,
  { path, overwrite }: { path: string; overwrite: boolean },
  update: (done: number, total: number) => void,
): Promise<boolean> {
  const { invocation, journal, parallel } = get;
  const { out, signal } = invocation;
  const { resumed, there } = await downloadToFile(remote, path, {
    journal,
    overwrite,
    parallel,
    signal,
    onProgress: ({ done, total }) => update(done, total),
    onWait: () =>
      out.note('waiting', `${oneLine(path)} is being written by another szafa; waiting for it`, { path }),
  });
  const volumes = remote.layout.count;
  const say = told(get, file, path, remote.metadata.size);
  if (there) say.there();
  else
    say.got({ volumes, resumed }, resumed > 0 ? `, ${resumed} of ${volumes} volumes were already there` : '');
  return !there;
}

/** After all files. */
export async function receiveLink(get: Get, { file, remote, target, path, below }: Link): Promise<void> {
  const { invocation, destination } = get;
  const { flags } = invocation;
  const say = told(get, file, path, 0);
  // A link of one's own may lead anywhere, as it did.
  if (isDelivered(remote.metadata)) checkLink(path, target, destination.named(file.top));
  const state = linkState(path, target);
  if (state === 'same') return say.there();
  if (state === 'other' && (!flags.yes || isFolder(path))) throw inTheWay(path);
  if (!flags['dry-run']) {
    destination.ensure(below);
    makeLink(path, target, { time: remote.metadata, overwrite: flags.yes ?? false });
  }
  say.got({ link: target }, ` -> ${oneLine(target)}`);
}
