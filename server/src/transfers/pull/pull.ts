import { limits } from '@szafa/protocol';
import { Landing } from './landing.ts';
import { PullProxy } from './proxy.ts';
import { checkPullAddress, type VolumeAddresses } from './source.ts';
import { exitError, findTool, isShellFailure, PullError, Tool, toolArguments } from './tool.ts';

export { checkPullAddress } from './source.ts';
export { PullError, type PullFailure } from './tool.ts';

export interface PullJob {
  transferId: string;
  /** Sent by the client, so untrusted. */
  baseUrl: string;
  token: string;
  /** All volumes of the transfer. */
  volumes: Iterable<{ idx: number; size: number }>;
  /** The folder for the volumes, which are named by number. Complete volumes are kept between attempts. */
  landing: string;
  /** Whether the pull may connect to this address, in the form that `plainAddress` returns. */
  allow: (address: string) => boolean;
  /** Maximum bytes per second. */
  rate?: number | undefined;
  signal?: AbortSignal;
  timeoutMs?: number;
  /** Called with the numbers of the complete volumes, including those of earlier attempts. */
  onLanded?: (landed: ReadonlySet<number>) => void;
}

/**
 * Downloads the missing volumes with the download tool, through a proxy that checks every hop and every size. Returns the
 * numbers of all complete volumes, ascending. Volumes of the wrong size are omitted without an error. Only one pull at a time
 * may use a folder.
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
  const abortPull = (reason: PullError) => stop.abort(reason);
  const proxy = await PullProxy.open({ addresses, sizes, allow: job.allow, stop: abortPull });
  try {
    const wanted = [...sizes.keys()].filter((idx) => !landing.landed.has(idx));
    const tool = await Tool.start(file, toolArguments(proxy.url, job.rate), landing.work, stop.signal);
    const watched = watch(tool, landing, proxy, job.onLanded).catch((error: unknown) => stop.abort(error));
    const [exit] = await Promise.all([tool.ended, watched, tool.feed(inputList(addresses, wanted))]);
    stop.signal.throwIfAborted();
    if (isShellFailure(exit)) throw new PullError('cannot-start', 'the download tool could not be started');
    await landing.acceptAll(proxy.rejected);
    job.onLanded?.(landing.landed);
    if (exit.code === 0) return;
    // The tool reports failure even if only volumes of the wrong size failed.
    const isExcused =
      proxy.rejected.size > 0 && wanted.every((idx) => landing.landed.has(idx) || proxy.rejected.has(idx));
    if (!isExcused) throw exitError(exit.code, exit.signal, proxy.fault);
  } finally {
    await proxy.close();
  }
}

/** Formats the tool's input: an address, then its options, indented. */
function* inputList(addresses: VolumeAddresses, wanted: Iterable<number>): Generator<string> {
  for (const idx of wanted) yield `${addresses.listed(idx)}\n  out=${idx}\n`;
}

/** Accepts each volume as soon as the tool reports that it is complete. */
async function watch(
  tool: Tool,
  landing: Landing,
  proxy: PullProxy,
  onLanded: PullJob['onLanded'],
): Promise<void> {
  for await (const line of tool.lines()) {
    const idx = Number(/Download complete: (?:.*\/)?([1-9]\d*)$/.exec(line)?.[1]);
    if (!idx || proxy.rejected.has(idx)) continue;
    if (await landing.accept(idx)) onLanded?.(landing.landed);
  }
}
