import type { Volume } from '@szafa/protocol';
import type { NumberedFile } from '../files/files-table.ts';
import { THUMBNAIL, thumbnailOf } from '../files/thumbnails-table.ts';
import type { Metadata } from '../metadata.ts';
import type { Uses } from '../parts.ts';
import { Service } from '../platform/service.ts';
import { type CheckProgress, isFinished } from './checks-table.ts';
import { FileWalk } from './file-walk.ts';
import { VolumeCheck } from './volume-check.ts';

/** A small volume counts as this many bytes toward the rate limit, because opening it takes time too. */
const LEAST_BYTES = 64 * 1024;
/** How often known faults are checked again, and how many of them: an operator may have restored volumes. */
const RECHECK_MS = 3_600_000;
const RECHECK_COUNT = 100;
/** More faults than this are only logged. */
const MAX_FAULTS = 10_000;

/**
 * Regularly reads every volume of every file, slowly, and compares it with its record, so that bytes lost by a disk are
 * noticed before a client needs them. Reports faults and changes nothing in the store. One process at a time runs it.
 */
export class Scrub extends Service<Uses<'metadata' | 'volumes' | 'config' | 'log' | 'metrics'>> {
  #recheckedAt = 0;

  /** Works until nothing is due, `stop` aborts, or `isOurs` reports that another node scrubs. */
  async work(stop: AbortSignal, isOurs: () => boolean): Promise<void> {
    const { metadata, config, log } = this.deps;
    if (config.scrubMs === 0) return;
    await this.#recheckFaults(stop);
    let progress = await metadata.checks.progress('scrub');
    if (isFinished(progress)) {
      if (this.now() - progress.startedAt < config.scrubMs) return;
      progress = await metadata.checks.start('scrub', this.now());
      log.info({ files: progress.endSeq }, 'scrub: reading every volume');
    }
    const walk = this.#createWalk(progress, stop, isOurs);
    const finished = await walk.run(this.now).catch(unlessStopped(stop));
    if (!finished) return;
    const { files, volumes, bytes, faults } = walk.progress;
    log[faults > 0 ? 'error' : 'info']({ files, volumes, bytes, faults }, 'scrub: done');
  }

  async #recheckFaults(stop: AbortSignal): Promise<void> {
    const { checks, files } = this.deps.metadata;
    if (this.now() - this.#recheckedAt < RECHECK_MS) return;
    this.#recheckedAt = this.now();
    if ((await checks.faultCount()) === 0) return;
    await checks.expireFaults();
    const check = this.#volumeCheck(stop);
    for (const { file_id, idx } of await checks.faults(RECHECK_COUNT)) {
      const spec = idx === THUMBNAIL ? await files.thumbnail(file_id) : await files.volume(file_id, idx);
      const fault = spec ? await check.faultOf(file_id, spec).catch(unlessStopped(stop)) : 'missing';
      if (stop.aborted) return;
      if (fault === undefined) await checks.removeFault(file_id, idx);
    }
  }

  #createWalk(progress: CheckProgress, stop: AbortSignal, isOurs: () => boolean): FileWalk {
    const { metadata, log } = this.deps;
    const { checks, files } = metadata;
    const check = this.#volumeCheck(stop, (bytes) => walk.count('bytes', bytes));
    let knownFaults = new Set<string>();
    const report = async ({ file_id, owner }: NumberedFile, idx: number, fault: string) => {
      // The file may have been deleted during the check.
      if (!(await files.get(file_id))) return;
      walk.count('faults');
      log.error({ file: file_id, owner, volume: idx, fault }, 'scrub: a volume is missing or damaged');
      const key = faultKey(file_id, idx);
      if (!knownFaults.has(key) && knownFaults.size >= MAX_FAULTS) return;
      knownFaults.add(key);
      await checks.addFault({ file_id, idx, fault, found_at: this.now() });
    };
    const visitVolume = async (file: NumberedFile, volume: Volume) => {
      const findFault = () => check.faultOf(file.file_id, volume);
      // Checked twice, because a transient error is not a loss.
      const fault = (await findFault()) && (await findFault());
      walk.count('volumes');
      if (fault !== undefined) await report(file, volume.idx, fault);
      else if (knownFaults.has(faultKey(file.file_id, volume.idx)))
        await checks.removeFault(file.file_id, volume.idx);
    };
    const walk = new FileWalk(metadata, 'scrub', progress, {
      mayContinue: () => isOurs() && !stop.aborted,
      endsIfOvertaken: true,
      beforePage: async () => {
        await this.#recheckFaults(stop);
        const faults = await checks.faults(MAX_FAULTS);
        knownFaults = new Set(faults.map(({ file_id, idx }) => faultKey(file_id, idx)));
      },
      visitVolume,
      finishFile: async (file, volumes) => {
        const thumbnail = thumbnailOf(file);
        if (thumbnail) await visitVolume(file, thumbnail);
        // The record does not list the remaining volumes.
        if (volumes.length < file.chunk_count) await report(file, volumes.length + 1, 'missing');
      },
    });
    return walk;
  }

  #volumeCheck(signal: AbortSignal, onBytes?: (bytes: number) => void): VolumeCheck {
    const { config, metrics, volumes } = this.deps;
    return new VolumeCheck(volumes, {
      bytesPerSecond: config.scrubBytesPerSecond,
      leastBytes: LEAST_BYTES,
      signal,
      onBytes: (bytes) => {
        metrics.add('szafa_scrub_read_bytes_total', {}, bytes);
        onBytes?.(bytes);
      },
    });
  }
}

const unlessStopped = (stop: AbortSignal) => (error: unknown) => {
  if (!stop.aborted) throw error;
};

const faultKey = (fileId: string, idx: number) => `${fileId} ${idx}`;

/**
 * Returns the state of the scrub. `progress`: from 0 to 1, by file numbers. `endedAt`: end of the last complete scrub, 0 if
 * there was none.
 */
export async function scrubState({ checks }: Metadata) {
  const { seq, endSeq, idx: _, ...state } = await checks.progress('scrub');
  const running = !isFinished(state);
  const progress = running ? Math.min(1, seq / Math.max(1, endSeq)) : 1;
  return { ...state, running, progress, faults: await checks.faultCount() };
}
