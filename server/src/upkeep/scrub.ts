import type { Volume } from '@szafa/protocol';
import type { Config } from '../config.ts';
import type { NumberedFile } from '../files/files-table.ts';
import { THUMBNAIL, thumbnailOf } from '../files/thumbnails-table.ts';
import type { Metadata } from '../metadata.ts';
import type { Log } from '../platform/log/log.ts';
import type { Metrics } from '../platform/metrics/registry.ts';
import type { VolumeStore } from '../platform/volumes/store.ts';
import { type CheckRound, isOver, type VolumeFaultRow } from './checks-table.ts';
import { VolumeCheck } from './volume-check.ts';

const PAGE = 100;
/** At least this long between two notes of how far it is. */
const KEEP_MS = 5_000;
const LEAST_BYTES = 64 * 1024;
/** So often those that are known are looked at again, and no more of them: somebody may have put them back. */
const AGAIN_MS = 3_600_000;
const AGAIN = 100;
/** A store that has lost more than this needs no list of it; each one is still in the log. */
const MOST_FAULTS = 10_000;

interface Dependencies {
  metadata: Metadata;
  volumes: VolumeStore;
  config: Pick<Config, 'scrubMs' | 'scrubBytesPerSecond'>;
  log: Log;
  metrics: Metrics;
  now?: () => number;
}

/**
 * Reads every volume of every file once in a while, slowly, and compares it with its record: bytes that a disk loses show before
 * somebody needs them. It reports and deletes nothing. How far it is stands in the database, so that it goes on there after a
 * restart and on any node; one process at a time runs it.
 */
export class Scrub {
  readonly #deps: Dependencies;
  readonly #now: () => number;
  #againAt = 0;

  constructor(deps: Dependencies) {
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
  }

  /** Until all is done that is due, `stop`, or `isOurs` says that another node has the right to it. */
  async work(stop: AbortSignal, isOurs: () => boolean): Promise<void> {
    const { checks } = this.#deps.metadata;
    const { scrubMs } = this.#deps.config;
    if (scrubMs === 0) return;
    await this.#lookAgain(stop);
    let round = await checks.round('scrub');
    if (isOver(round)) {
      if (this.#now() - round.beganAt < scrubMs) return;
      round = await checks.begin('scrub', this.#now());
      this.#deps.log.info({ files: round.untilSeq }, 'scrub: reading every volume');
    }
    const walk = new Walk(this.#deps, round, this.#now, stop);
    await walk.walk(isOurs, () => this.#lookAgain(stop)).catch(unlessStopped(stop));
  }

  /** At those that are known to be wrong. */
  async #lookAgain(stop: AbortSignal): Promise<void> {
    const { checks, files } = this.#deps.metadata;
    if (this.#now() - this.#againAt < AGAIN_MS) return;
    this.#againAt = this.#now();
    if ((await checks.faultCount()) === 0) return;
    await checks.expireFaults();
    const check = volumeCheck(this.#deps, stop);
    for (const { file_id, idx } of await checks.faults(AGAIN)) {
      const spec = idx === THUMBNAIL ? await files.thumbnail(file_id) : await files.volume(file_id, idx);
      const fault = spec ? await check.faultOf(file_id, spec).catch(unlessStopped(stop)) : 'missing';
      if (stop.aborted) return;
      if (fault === undefined) await checks.forgetFault(file_id, idx);
    }
  }
}

const unlessStopped = (stop: AbortSignal) => (error: unknown) => {
  if (!stop.aborted) throw error;
};

function volumeCheck(
  { config, metrics, volumes }: Dependencies,
  signal: AbortSignal,
  onBytes: (bytes: number) => void = () => undefined,
): VolumeCheck {
  return new VolumeCheck(volumes, {
    bytesPerSecond: config.scrubBytesPerSecond,
    leastBytes: LEAST_BYTES,
    signal,
    onBytes: (bytes) => {
      metrics.add('szafa_scrub_read_bytes_total', {}, bytes);
      onBytes(bytes);
    },
  });
}

/** One go at a round. */
class Walk {
  readonly #deps: Dependencies;
  readonly #now: () => number;
  readonly #stop: AbortSignal;
  readonly #check: VolumeCheck;
  #round: CheckRound;
  /** As it stands in the database. */
  #kept: CheckRound;
  #keptAt: number;
  #known = new Set<string>();

  constructor(deps: Dependencies, round: CheckRound, now: () => number, stop: AbortSignal) {
    this.#deps = deps;
    this.#now = now;
    this.#stop = stop;
    this.#round = round;
    this.#kept = round;
    this.#keptAt = performance.now();
    this.#check = volumeCheck(deps, stop, (bytes) => this.#count('bytes', bytes));
  }

  async walk(isOurs: () => boolean, beside: () => Promise<void>): Promise<void> {
    const { metadata, log } = this.#deps;
    const goesOn = () => isOurs() && !this.#stop.aborted;
    try {
      for (let files = await this.#page(); files.length > 0; files = await this.#page()) {
        await beside();
        const known = await metadata.checks.faults(MOST_FAULTS);
        this.#known = new Set(known.map(({ file_id, idx }) => placeOf(file_id, idx)));
        for (const file of files) if (!goesOn() || !(await this.#file(file, goesOn))) return;
      }
    } finally {
      await this.#keep();
    }
    if (!goesOn()) return;
    const { volumes, bytes, faults } = this.#round;
    this.#round = { ...this.#round, endedAt: Math.max(this.#now(), this.#round.beganAt) };
    if (!(await this.#keep())) return;
    log[faults > 0 ? 'error' : 'info']({ files: this.#round.files, volumes, bytes, faults }, 'scrub: done');
  }

  /** From the file on in which it was. */
  #page(): Promise<NumberedFile[]> {
    const { seq, idx, untilSeq } = this.#round;
    return this.#deps.metadata.files.numbered(idx === DONE ? seq + 1 : seq, untilSeq, PAGE);
  }

  /** False when it is not ours any more. */
  async #file(file: NumberedFile, goesOn: () => boolean): Promise<boolean> {
    const { metadata } = this.#deps;
    const specs = await metadata.files.volumes(file.file_id);
    const from = file.seq === this.#round.seq ? this.#round.idx : 0;
    for (const spec of specs) {
      if (spec.idx <= from) continue;
      if (!goesOn()) return false;
      await this.#volume(file, spec);
      this.#round = { ...this.#round, seq: file.seq, idx: spec.idx };
      if (performance.now() - this.#keptAt > KEEP_MS && !(await this.#keep())) return false;
    }
    const thumbnail = thumbnailOf(file);
    if (thumbnail) await this.#volume(file, thumbnail);
    // The record does not say what the rest is.
    if (specs.length < file.chunk_count) await this.#report(file, specs.length + 1, 'missing');
    this.#count('files', 1);
    this.#round = { ...this.#round, seq: file.seq, idx: DONE };
    return true;
  }

  async #volume(file: NumberedFile, spec: Volume): Promise<void> {
    const { metadata } = this.#deps;
    // Twice: an error of the moment is no loss.
    const fault =
      (await this.#check.faultOf(file.file_id, spec)) && (await this.#check.faultOf(file.file_id, spec));
    this.#count('volumes', 1);
    if (fault !== undefined) await this.#report(file, spec.idx, fault);
    else if (this.#known.has(placeOf(file.file_id, spec.idx))) {
      await metadata.checks.forgetFault(file.file_id, spec.idx);
    }
  }

  async #report({ file_id, owner }: NumberedFile, idx: number, fault: string): Promise<void> {
    const { metadata, log } = this.#deps;
    // It may have been deleted while we looked; then nothing is wrong.
    if (!(await metadata.files.get(file_id))) return;
    this.#count('faults', 1);
    log.error(
      { file: file_id, owner, volume: idx, fault },
      'scrub: a volume of a file is not as it should be',
    );
    const place = placeOf(file_id, idx);
    if (!this.#known.has(place) && this.#known.size >= MOST_FAULTS) return;
    this.#known.add(place);
    await metadata.checks.noteFault({ file_id, idx, fault, found_at: this.#now() });
  }

  #count(what: 'files' | 'volumes' | 'bytes' | 'faults', by: number): void {
    this.#round = { ...this.#round, [what]: this.#round[what] + by };
  }

  async #keep(): Promise<boolean> {
    const kept = await this.#deps.metadata.checks.keep('scrub', this.#kept, this.#round);
    this.#kept = this.#round;
    this.#keptAt = performance.now();
    return kept;
  }
}

/** In the place of a volume's number: the file is done. */
const DONE = 2 ** 31 - 1;

const placeOf = (fileId: string, idx: number) => `${fileId} ${idx}`;

/** What a person who watches wants to know. */
export interface ScrubState {
  running: boolean;
  beganAt: number;
  /** Of the latest that came to its end; 0: none has. */
  endedAt: number;
  /** 0 to 1, by the numbers of files. */
  progress: number;
  files: number;
  volumes: number;
  bytes: number;
  /** Volumes that are known to be missing or wrong. */
  faults: number;
}

export async function scrubState({ checks }: Metadata): Promise<ScrubState> {
  const round = await checks.round('scrub');
  const running = !isOver(round);
  const { beganAt, endedAt, files, volumes, bytes, seq, untilSeq } = round;
  const progress = running ? Math.min(1, seq / Math.max(1, untilSeq)) : 1;
  return { running, beganAt, endedAt, progress, files, volumes, bytes, faults: await checks.faultCount() };
}

/** Which volumes those are. */
export const scrubFaults = ({ checks }: Metadata, limit = 1000): Promise<VolumeFaultRow[]> =>
  checks.faults(limit);
