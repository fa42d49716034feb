import type { RemoteFile, Szafa } from '@szafa/client/node';
import { isDelivered, openSelected, type SelectedFile, sealedBelow } from '../../select/selection.ts';
import { checkLink, type WrittenFile, writtenFile } from './links.ts';
import { type Download, type DownloadWriter, stateOf } from './write.ts';

export interface PendingLink extends Download {
  file: SelectedFile;
  remote: RemoteFile;
  target: string;
}

/** Downloads the account's own files. */
export class OwnDownloads {
  readonly #szafa: Szafa;
  readonly #writer: DownloadWriter;
  /** Symbolic links are made last: until then none is in the way of a file. */
  readonly links: PendingLink[] = [];
  /** The first name of each file that has several, once it is written. */
  readonly #firstNames = new Map<string, Promise<WrittenFile | undefined>>();

  constructor(szafa: Szafa, writer: DownloadWriter) {
    this.#szafa = szafa;
    this.#writer = writer;
  }

  async receive(file: SelectedFile): Promise<void> {
    const { run, destination } = this.#writer;
    const { invocation } = run;
    await run.progress.track(file.path, file.entry.size, async (update) => {
      // Before it is opened, so that numbers are given in the order of the files.
      const claimed = file.entry.verified ? destination.claim(file.below) : undefined;
      const remote = await openSelected(this.#szafa, file, invocation);
      const { link, size } = remote.metadata;
      update({ done: 0, total: size });
      const below = sealedBelow(file, remote.metadata);
      const path = claimed !== undefined && below === file.below ? claimed : destination.claim(below);
      const fields = { file_id: file.entry.fileId, from: file.path };
      const download: Download = { fields, path, below, size };
      if (link !== undefined) {
        this.links.push({ ...download, size: 0, file, remote, target: link });
        return;
      }
      const open = async () => remote;
      const options = { onProgress: update, countVolumes: true } as const;
      await this.#asOneFile(remote, path, async (first) => {
        const state = await stateOf(path, remote.metadata, open, { ...invocation, destination });
        return this.#writer.write(download, state, open, { ...options, first });
      });
    });
  }

  /**
   * Of several names of one file, writes the first and links the others to it. Never to a file that existed before: it may have
   * other bytes, belong to another user, or have names elsewhere.
   */
  async #asOneFile(
    { metadata }: RemoteFile,
    path: string,
    write: (first?: WrittenFile) => Promise<boolean>,
  ): Promise<unknown> {
    const { hardlink, size, mtime, nanos, mode } = metadata;
    const { flags } = this.#writer.run.invocation;
    if (hardlink === undefined || isDelivered(metadata) || flags['dry-run']) return write();
    const key = [hardlink, size, mtime, nanos, mode].join();
    const pending = this.#firstNames.get(key);
    // Without an await if there is none, so that only one name is the first.
    const first = pending && (await pending);
    if (first) return write(first);
    const writing = write();
    const written = (isWritten: boolean) => (isWritten ? writtenFile(path) : undefined);
    this.#firstNames.set(
      key,
      writing.then(written).catch(() => undefined),
    );
    return writing;
  }

  /** Makes a link, after all files. */
  async receiveLink({ file, remote, target, ...download }: PendingLink): Promise<void> {
    const { destination } = this.#writer;
    // The account's own links may lead anywhere, as they did.
    if (isDelivered(remote.metadata)) checkLink(download.path, target, destination.localFolder(file.top));
    this.#writer.writeLink(download, target, remote.metadata);
  }
}
