import { limits } from '@szafa/protocol';
import { exitError, PullError } from './error.ts';
import { Landing } from './landing.ts';
import { PullProxy } from './proxy.ts';
import { checkPullAddress, type VolumeAddresses } from './source.ts';
import { findTool, isShellFailure, Tool, toolArguments } from './tool.ts';

export { PullError, type PullFailure } from './error.ts';
export { checkPullAddress } from './source.ts';

export interface PullJob {
  transferId: string;
  /** From the client, untrusted. */
  baseUrl: string;
  token: string;
  /** Every volume of the transfer. */
  volumes: Iterable<{ idx: number; size: number }>;
  /** Folder where volume files land, named by number; whole ones stay between attempts.  */
  landing: string;
  /** May this pull connect to this address? Given in the spelling of plainAddress(). */
  allow: (address: string) => boolean;
  /** Bytes a second, at most. */
  rate?: number | undefined;
  signal?: AbortSignal;
  timeoutMs?: number;
  /** Numbers of the volume files that have arrived whole, including those of an earlier attempt. */
  onLanded?: (landed: ReadonlySet<number>) => void;
}

/**
 * Fetches the volumes that are not here yet with the download tool, through a proxy of our own that checks
 * every hop and every size. Resolves to the numbers, ascending, of all volumes whose file is whole. A volume
 * with another size than its spec is left out without an error. One pull at a time for one landing folder.
 */
export async function runPull(job: PullJob): Promise<{ landed: number[] }> {
  const addresses = checkPullAddress(job.baseUrl, job.token).of(job.transferId);
  const sizes = new Map<number, number>();
  for (const { idx, size } of job.volumes) sizes.set(idx, size);

  const stop = new AbortController();
  const abort = () => stop.abort(new PullError('aborted', 'the pull was stopped'));
  if (job.signal?.aborted) abort();
  job.signal?.addEventListener('abort', abort);
  const timeout = setTimeout(
    () => stop.abort(new PullError('timeout', 'the pull took too long')),
    job.timeoutMs ?? limits.pullSeconds * 1000,
  );
  try {
    stop.signal.throwIfAborted();
    const landing = await Landing.open(job.landing, sizes);
    try {
      job.onLanded?.(landing.landed);
      if (landing.landed.size < sizes.size) await download(job, addresses, sizes, landing, stop);
      return { landed: [...landing.landed].sort((a, b) => a - b) };
    } finally {
      await landing.close();
    }
  } finally {
    clearTimeout(timeout);
    job.signal?.removeEventListener('abort', abort);
  }
}

async function download(
  job: PullJob,
  addresses: VolumeAddresses,
  sizes: ReadonlyMap<number, number>,
  landing: Landing,
  stop: AbortController,
): Promise<void> {
  const file = await findTool();
  const halt = (reason: PullError) => stop.abort(reason);
  const proxy = await PullProxy.open({ addresses, sizes, allow: job.allow, stop: halt });
  try {
    const wanted = [...sizes.keys()].filter((idx) => !landing.landed.has(idx));
    const tool = await Tool.start(file, toolArguments(proxy.url, job.rate), landing.work, stop.signal);
    const watched = watch(tool, landing, proxy, job.onLanded).catch((error: unknown) => stop.abort(error));
    const [end] = await Promise.all([tool.ended, watched, tool.feed(list(addresses, wanted))]);
    stop.signal.throwIfAborted();
    if (isShellFailure(end)) throw new PullError('cannot-start', 'the download tool could not be started');
    await landing.settleAll(proxy.unfit);
    job.onLanded?.(landing.landed);
    if (end.code === 0) return;
    // The tool also ends with an error when all that failed are volumes that do not fit their spec.
    const excused =
      proxy.unfit.size > 0 && wanted.every((idx) => landing.landed.has(idx) || proxy.unfit.has(idx));
    if (!excused) throw exitError(end.code, end.signal, proxy.fault);
  } finally {
    await proxy.close();
  }
}

/** The list of addresses in the tool's input format: an address, then its options, indented. */
function* list(addresses: VolumeAddresses, wanted: Iterable<number>): Generator<string> {
  for (const idx of wanted) yield `${addresses.listed(idx)}\n  out=${idx}\n`;
}

/** Takes over each volume as soon as the tool says that it is complete. */
async function watch(
  tool: Tool,
  landing: Landing,
  proxy: PullProxy,
  onLanded: PullJob['onLanded'],
): Promise<void> {
  for await (const line of tool.lines()) {
    const idx = Number(/Download complete: (?:.*\/)?([1-9]\d*)$/.exec(line)?.[1]);
    if (!idx || proxy.unfit.has(idx)) continue;
    if (await landing.settle(idx)) onLanded?.(landing.landed);
  }
}
