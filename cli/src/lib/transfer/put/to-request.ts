/** put --to LINK, for a file request. Needs no account. */
import { type FileSource, lastOf, parseRequest, RequestVisit } from '@szafa/client/node';
import type { Invocation } from '../../../command.ts';
import { CliError, UsageError } from '../../../errors.ts';
import { clientOptions, normalizeServer } from '../../account/connection.ts';
import { formatBytes, formatTime, oneLine, plural } from '../../print/text.ts';
import { collectFiles, type PlannedFile } from '../../select/plan.ts';
import { concurrencyFor, TransferRun } from '../run.ts';
import { whileChanging } from './file.ts';
import { noteGrown, volumeSize } from './send.ts';

type OnProgress = (progress: { done: number; total?: number | undefined }) => void;

const NOT_FOR_REQUESTS = [
  ...(['dir', 'pull', 'force', 'skip-existing', 'both', 'checksum', 'plain-names'] as const),
];

function checkUsage({ args, flags }: Invocation): void {
  const wrong = NOT_FOR_REQUESTS.find((name) => flags[name] !== undefined && flags[name] !== false);
  if (wrong) {
    const hint = 'the owner of the link decides where files go';
    throw new UsageError(`--${wrong} cannot be combined with --to`, hint);
  }
  if (!args.includes('-')) return;
  throw new UsageError('standard input cannot be put to a link', 'its length must be known: upload a file');
}

export async function putToRequest(invocation: Invocation, link: string): Promise<void> {
  const { flags, out, batch, signal } = invocation;
  checkUsage(invocation);
  const address = parseRequest(link);
  const files = (await collectFiles(invocation)).filter(({ kind }) => kind === 'file');
  if (files.length === 0) {
    if (batch.failed === 0) out.note('empty', 'there is nothing to upload');
    return;
  }
  const bytes = volumeSize(invocation);
  const server = normalizeServer(address.server);
  await using client = clientOptions(invocation, server, concurrencyFor(invocation, files).files);
  const { engine, transport, retry, onRetry } = client.options;
  const connection = { engine, transport, retry, onRetry, signal };
  const visit = await RequestVisit.begin({ ...address, server }, connection);
  showLimits(invocation, visit);
  using run = new TransferRun(invocation, files);
  const { journal, concurrency } = run;
  const upload = async (path: string, name: string, source: FileSource, onProgress: OnProgress) => {
    const onWait = () => {
      const message = `${oneLine(path)} is being uploaded by another szafa; waiting for it`;
      out.note('waiting', message, { path });
    };
    const { resumed, size, grown } = await visit.upload(source, {
      ...{ name, mtime: source.mtime, volumeSize: bytes, parallel: concurrency.volumes },
      ...{ journal, signal, onProgress, onWait },
    });
    const again = resumed > 0 ? `, ${plural(resumed, 'volume')} already there` : '';
    const text = `put ${oneLine(name)}  ${formatBytes(size)}${again}`;
    out.done('uploaded', { path, name, size, resumed }, text);
    if (grown) noteGrown(invocation, path, size);
  };
  const work = async ({ path, to }: PlannedFile) => {
    const name = flags.name ?? lastOf(to);
    await whileChanging(path, signal, async (source) => {
      const { size } = source;
      await run.progress.track(name, size, async (onProgress) => {
        if (!flags['dry-run']) return upload(path, name, source, onProgress);
        if (!visit.takes(size)) throw limitReached();
        out.done('planned', { action: 'upload', path, name, size }, `would put ${oneLine(name)}`);
      });
      run.count(size);
    });
  };
  await batch.each(files, work, { parallel: concurrency.files });
  run.finish('put', 'would put');
}

function showLimits({ out }: Invocation, { note, limits }: RequestVisit): void {
  if (note !== undefined) out.note('says', oneLine(note), { note });
  const { files, bytes, expiresAt } = limits;
  const until = expiresAt === null ? '' : `, until ${formatTime(expiresAt)}`;
  const message = `you can send up to ${plural(files, 'more file')} (${formatBytes(bytes)})${until}`;
  out.note('limits', message, { files, bytes, expires_at: expiresAt });
}

function limitReached(): CliError {
  const message = 'this link takes no more files, or none this large';
  return new CliError('link-over', message, 'ask its owner for another one');
}
