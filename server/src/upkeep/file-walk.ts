import type { Volume } from '@szafa/protocol';
import type { NumberedFile } from '../files/files-table.ts';
import type { Metadata } from '../metadata.ts';
import type { CheckName, CheckProgress } from './checks-table.ts';

const PAGE = 100;
/** Minimum time between two writes of the progress. */
const SAVE_MS = 5_000;
/** In place of a volume's number: the whole file has been checked. */
export const FILE_DONE = 2 ** 31 - 1;

interface Visitor {
  /** Called before each file and volume. */
  mayContinue?: () => boolean;
  /** Ends the walk if another process has advanced or restarted the same check. Otherwise it only loses its progress. */
  endsIfOvertaken?: boolean;
  /** Called before each page of files. */
  beforePage?: () => Promise<void>;
  visitVolume: (file: NumberedFile, volume: Volume) => Promise<void>;
  /** Called after all volumes of the file. */
  finishFile: (file: NumberedFile, volumes: Volume[]) => Promise<void>;
}

/**
 * Visits every volume of every file, ordered by file number. This may take weeks, so the progress is kept in the database:
 * after a restart the walk continues with the next volume, on any node.
 */
export class FileWalk {
  progress: CheckProgress;
  readonly #metadata: Metadata;
  readonly #name: CheckName;
  readonly #visitor: Visitor;
  readonly #mayContinue: () => boolean;
  #saved: CheckProgress;
  #savedAt = performance.now();

  constructor(metadata: Metadata, name: CheckName, progress: CheckProgress, visitor: Visitor) {
    this.#metadata = metadata;
    this.#name = name;
    this.#visitor = visitor;
    this.#mayContinue = visitor.mayContinue ?? (() => true);
    this.progress = progress;
    this.#saved = progress;
  }

  count(what: 'files' | 'volumes' | 'bytes' | 'faults', by = 1): void {
    this.progress = { ...this.progress, [what]: this.progress[what] + by };
  }

  /** Runs the walk. False if it ended early, or its progress could not be saved because another process has overtaken it. */
  async run(now: () => number): Promise<boolean> {
    try {
      // A short page is the last one: files that arrive while it is checked must not prolong the walk forever.
      for (let files = await this.#nextPage(); files.length > 0; ) {
        await this.#visitor.beforePage?.();
        for (const file of files) if (!this.#mayContinue() || !(await this.#visit(file))) return false;
        files = files.length < PAGE ? [] : await this.#nextPage();
      }
    } finally {
      await this.#save();
    }
    if (!this.#mayContinue()) return false;
    this.progress = { ...this.progress, endedAt: Math.max(now(), this.progress.startedAt) };
    return this.#save();
  }

  #nextPage(): Promise<NumberedFile[]> {
    const { seq, idx, endSeq } = this.progress;
    return this.#metadata.files.numbered(idx === FILE_DONE ? seq + 1 : seq, endSeq, PAGE);
  }

  async #visit(file: NumberedFile): Promise<boolean> {
    const volumes = await this.#metadata.files.volumes(file.file_id);
    const lastIdx = file.seq === this.progress.seq ? this.progress.idx : 0;
    for (const volume of volumes) {
      if (volume.idx <= lastIdx) continue;
      if (!this.#mayContinue()) return false;
      await this.#visitor.visitVolume(file, volume);
      this.progress = { ...this.progress, seq: file.seq, idx: volume.idx };
      const isSaved = performance.now() - this.#savedAt <= SAVE_MS || (await this.#save());
      if (!isSaved && this.#visitor.endsIfOvertaken) return false;
    }
    await this.#visitor.finishFile(file, volumes);
    this.count('files');
    this.progress = { ...this.progress, seq: file.seq, idx: FILE_DONE };
    return true;
  }

  async #save(): Promise<boolean> {
    const saved = await this.#metadata.checks.save(this.#name, this.#saved, this.progress);
    this.#saved = this.progress;
    this.#savedAt = performance.now();
    return saved;
  }
}
