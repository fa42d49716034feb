/** put to the link of a request: needs no account. */
import { join } from 'node:path';
import { fileJournal, lastOf, parseRequest, RequestVisit } from '@szafa/client/node';
import type { Invocation } from '../../../command.ts';
import { CliError, UsageError } from '../../../errors.ts';
import { clientOptions, sameServer } from '../../account/connection.ts';
import { parseSize } from '../../print/quantities.ts';
import { formatBytes, formatTime, oneLine, plural } from '../../print/text.ts';
import { collect, type Planned } from '../../select/plan.ts';
import { Batch } from '../batch.ts';
import { lanesFor, summarize, type Tally } from '../concurrency.ts';
import { Progress } from '../progress/progress.ts';
import { whileChanging } from './file.ts';
import { noteGrown } from './send.ts';

const NOT_HERE = ['dir', 'pull', 'force', 'skip-existing', 'both', 'checksum', 'plain-names'] as const;

/** What a visitor may not, or need not, say. */
function checkUsage({ args, flags }: Invocation): void {
  const wrong = NOT_HERE.find(
    (name) => flags[name as keyof typeof flags] !== undefined && flags[name as keyof typeof flags] !== false,
  );
  if (wrong)
    throw new UsageError(`--${wrong} does not go with --to`, 'whoever made the link decides where files go');
  if (args.includes('-'))
    throw new UsageError('standard input cannot be put to a link', 'its length must be known: upload a file');
}

export async function putToRequest(invocation: Invocation, link: string): Promise<void> {
  const { flags, settings, out, signal } = invocation;
  checkUsage(invocation);
  const address = parseRequest(link);
  const began = performance.now();
  const batch = new Batch(out);
  const files = (await collect(invocation, batch)).filter(({ kind }) => kind === 'file');
  if (files.length === 0) {
    if (batch.failed === 0) out.note('empty', 'there is nothing to upload');
    return batch.finish();
  }
  const volumeSize =
    flags['volume-size'] === undefined ? undefined : parseSize('volume-size', flags['volume-size']);
  const server = sameServer(address.server);
  const lanes = lanesFor(invocation, files);
  const { options, close } = clientOptions(invocation, server, lanes.files);
  const progress = new Progress(out);
  const tally: Tally = { files: 0, bytes: 0, skipped: 0 };
  try {
    const { engine, transport, retry, onRetry } = options;
    const visit = await RequestVisit.begin(
      { ...address, server },
      { engine, transport, retry, onRetry, signal },
    );
    if (visit.note !== undefined) out.note('says', oneLine(visit.note), { note: visit.note });
    const { files: left, bytes, expiresAt } = visit.limits;
    const until = expiresAt === null ? '' : `, until ${formatTime(expiresAt)}`;
    out.note(
      'limits',
      `this link takes ${plural(left, 'more file')} of ${formatBytes(bytes)} in all${until}`,
      {
        files: left,
        bytes,
        expires_at: expiresAt,
      },
    );
    const total = files.reduce((sum, { size }) => sum + size, 0);
    progress.expect(files.length, total);
    const journal = fileJournal(join(settings.config, 'journal'));
    const about = ({ path }: Planned) => path;
    await batch.run(files, { out, signal, parallel: lanes.files, about }, async ({ path, to }) => {
      const name = flags.name === undefined ? lastOf(to) : flags.name;
      await whileChanging(path, signal, async (source) => {
        const track = progress.start(name, source.size);
        let succeeded = false;
        try {
          if (flags['dry-run']) {
            if (!visit.takes(source.size)) throw tooMuch();
            out.done(
              'planned',
              { action: 'upload', path, name, size: source.size },
              `would put ${oneLine(name)}`,
            );
          } else {
            const { mtime } = source;
            const { resumed, size, grown } = await visit.upload(source, {
              ...{ name, mtime, volumeSize, parallel: lanes.volumes, journal, signal },
              onProgress: ({ done, total }) => track.update(done, total),
              onWait: () =>
                out.note('waiting', `${oneLine(path)} is being uploaded by another szafa; waiting for it`, {
                  path,
                }),
            });
            const again = resumed > 0 ? `, ${plural(resumed, 'volume')} already there` : '';
            out.done(
              'uploaded',
              { path, name, size, resumed },
              `put ${oneLine(name)}  ${formatBytes(size)}${again}`,
            );
            if (grown) noteGrown(out, batch, path, size);
          }
          succeeded = true;
          tally.files++;
          tally.bytes += source.size;
        } finally {
          track.end(succeeded);
        }
      });
    });
  } finally {
    progress.close();
    await close();
  }
  summarize(out, flags['dry-run'] ? 'would put' : 'put', tally, began);
  batch.finish();
}

const tooMuch = () =>
  new CliError(
    'link-over',
    'this link takes no more files, or none as large',
    'ask its owner for another one',
  );
