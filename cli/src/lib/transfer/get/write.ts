import { lstat } from 'node:fs/promises';
import type { KeptTime, LocalState, ReadableHeader, RemoteFile } from '@szafa/client/node';
import { diskPath, downloadToFile, fileSource, localState, sameContent } from '@szafa/client/node';
import type { Invocation } from '../../../command.ts';
import { formatBytes, oneLine } from '../../print/text.ts';
import type { TransferRun } from '../run.ts';
import type { Destination } from './destination.ts';
import { inTheWay, isFolder } from './disk.ts';
import { linkState, makeHardLink, makeLink, type WrittenFile } from './links.ts';

type Remote = RemoteFile<ReadableHeader>;

/** A file to write, from the account or from a share. */
export interface Download {
  /** Fields that identify the file in JSON output: its ID and server path, or its name in a share. */
  fields: Record<string, unknown>;
  path: string;
  /** Path below the target folder. */
  below: string;
  size: number;
}

/** Compares content: seals the local file again and compares digests with the header. */
async function stateByBytes(path: string, remote: Remote, signal: AbortSignal): Promise<LocalState> {
  const source = await fileSource(path);
  try {
    return (await sameContent(remote, source, signal)) ? 'same' : 'other';
  } finally {
    await source.close();
  }
}

/**
 * Compares the local path with the remote file. Compares content with --checksum, or if the disk lists the path under a different
 * spelling. `open` is undefined if the remote file must not be opened, because that would count as a download.
 */
export async function stateOf(
  path: string,
  metadata: Parameters<typeof localState>[1],
  open: (() => Promise<Remote>) | undefined,
  { flags, signal, destination }: Pick<Invocation, 'flags' | 'signal'> & { destination: Destination },
): Promise<LocalState> {
  const state = localState(path, metadata);
  const byBytes = flags.checksum
    ? state !== 'absent' && (await lstat(diskPath(path))).isFile()
    : state === 'same' && destination.hasOtherName(path);
  return byBytes && open ? stateByBytes(path, await open(), signal) : state;
}

/** Writes downloads to the disk and reports each. */
export class DownloadWriter {
  readonly run: TransferRun;
  readonly destination: Destination;

  constructor(run: TransferRun, destination: Destination) {
    this.run = run;
    this.destination = destination;
  }

  #skip({ fields, path }: Download): void {
    this.run.totals.skipped++;
    const text = `${oneLine(path)} is already there`;
    this.run.invocation.out.done('skipped', { ...fields, path, reason: 'already there' }, text);
  }

  #report({ fields, path, size }: Download, more: Record<string, unknown> = {}, text = ''): void {
    const { flags, out } = this.run.invocation;
    this.run.count(size);
    const line = `${oneLine(path)}  ${formatBytes(size)}${text}`;
    if (!flags['dry-run']) out.done('downloaded', { ...fields, path, size, ...more }, `got ${line}`);
    else out.done('planned', { action: 'download', ...fields, path, size }, `would get ${line}`);
  }

  #checkFree(path: string, state: LocalState): void {
    const { yes } = this.run.invocation.flags;
    if (state === 'other' && (!yes || isFolder(path))) throw inTheWay(path);
  }

  /** Creates an empty folder. An existing folder is left unchanged. */
  makeFolder(below: string, fields: Record<string, unknown>): void {
    const { flags, out } = this.run.invocation;
    const path = this.destination.claim(below, true);
    if (!flags['dry-run']) this.destination.ensure(below, true);
    const verb = flags['dry-run'] ? 'would create' : 'created';
    out.done('folder', { ...fields, path }, `${verb} ${oneLine(path)}/`);
  }

  /** Writes a file, or makes it a hard link to `first`. Returns true if it was written or linked. */
  async write(
    download: Download,
    state: LocalState,
    open: () => Promise<Remote>,
    { first, ...options }: { first?: WrittenFile | undefined; onProgress: Progress; countVolumes?: true },
  ): Promise<boolean> {
    const { path, below } = download;
    const { flags } = this.run.invocation;
    this.#checkFree(path, state);
    if (state === 'same') this.#skip(download);
    else if (flags['dry-run']) this.#report(download);
    if (state === 'same' || flags['dry-run']) return false;
    this.destination.ensure(below);
    const overwrite = state === 'other';
    if (first && makeHardLink(first, path, overwrite)) {
      this.#report(download, { hardlink: first.path });
      return true;
    }
    return this.#download(download, await open(), { overwrite, ...options });
  }

  /** Returns false if another process has written the same file first. */
  async #download(
    download: Download,
    remote: Remote,
    { countVolumes, ...options }: { overwrite: boolean; onProgress: Progress; countVolumes?: true },
  ): Promise<boolean> {
    const { out, signal } = this.run.invocation;
    const { path } = download;
    const { resumed, there } = await downloadToFile(remote, path, {
      ...{ ...options, journal: this.run.journal, parallel: this.run.concurrency.volumes, signal },
      onWait: () =>
        out.note('waiting', `${oneLine(path)} is being written by another szafa; waiting for it`, { path }),
    });
    const volumes = remote.layout.count;
    const again = resumed > 0 ? `, ${resumed} of ${volumes} volumes were already there` : '';
    if (there) this.#skip(download);
    else this.#report(download, countVolumes ? { volumes, resumed } : { resumed }, again);
    return !there;
  }

  writeLink(download: Download, link: string, time: KeptTime): void {
    const { flags } = this.run.invocation;
    const { path, below } = download;
    const state = linkState(path, link);
    if (state === 'same') {
      this.#skip(download);
      return;
    }
    this.#checkFree(path, state);
    if (!flags['dry-run']) {
      this.destination.ensure(below);
      makeLink(path, link, { time, overwrite: flags.yes ?? false });
    }
    this.#report(download, { link }, ` -> ${oneLine(link)}`);
  }
}

type Progress = (progress: { done: number; total: number }) => void;
