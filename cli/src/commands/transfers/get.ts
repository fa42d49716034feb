import { join } from 'node:path';
import { type Attributes, fileJournal, looksLikeLink } from '@szafa/client/node';
import type { Command, Invocation } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { oneLine } from '../../lib/print/text.ts';
import { Lookup } from '../../lib/select/lookup.ts';
import { type Chosen, type ChosenFolder, chooseFiles } from '../../lib/select/selection.ts';
import { Batch } from '../../lib/transfer/batch.ts';
import { lanesFor, summarize, transfersOf } from '../../lib/transfer/concurrency.ts';
import { Destination, placeFor } from '../../lib/transfer/get/destination.ts';
import { getLink } from '../../lib/transfer/get/link.ts';
import { type Get, type Link, receive, receiveLink } from '../../lib/transfer/get/receive.ts';
import { getShared } from '../../lib/transfer/get/shared.ts';
import { Progress } from '../../lib/transfer/progress/progress.ts';
import { command as cat } from './cat.ts';

const STDOUT = '-';

function checkUsage({ args, flags }: Invocation): void {
  if (flags.output === STDOUT && args.length !== 1) {
    throw new UsageError('standard output takes one file', 'name one, or give --output a folder');
  }
  if (flags.output === '') throw new UsageError('--output is empty', 'give a file or a folder');
  if (flags.output === STDOUT && flags['dry-run']) {
    throw new UsageError('a dry run writes nothing to standard output', 'omit --dry-run or --output');
  }
}

export const command: Command = async (invocation) => {
  const { args, flags, out, signal } = invocation;
  const [first = ''] = args;
  checkUsage(invocation);
  if (looksLikeLink(first)) {
    if (args.length > 1) throw new UsageError('get takes one link at a time', 'give the others one by one');
    return getLink(invocation, first);
  }
  if (flags.from !== undefined) return getShared(invocation, flags.from, flags.output === STDOUT);
  if (flags.output === STDOUT) return cat(invocation);
  const began = performance.now();
  await using connection = await connect(invocation, {
    keys: 'needed',
    transfers: transfersOf(invocation),
  });
  const { szafa } = connection;
  const batch = new Batch(out);
  const tree = await new Lookup(szafa, signal).tree();
  const { files, emptyFolders, recorded, single } = chooseFiles(tree, invocation, batch);
  const closed = new Set(recorded.map(({ below }) => below));
  const lanes = lanesFor(
    invocation,
    files.map(({ entry }) => entry),
  );
  const progress = new Progress(out);
  progress.expect(
    files.length,
    files.reduce((sum, { entry }) => sum + entry.size, 0),
  );
  const get: Get = {
    invocation,
    szafa,
    progress,
    destination: new Destination(await placeFor(flags.output, single), out, {
      ...{ dryRun: flags['dry-run'], own: true },
      closed: (below) => closed.has(below),
    }),
    parallel: lanes.volumes,
    journal: fileJournal(join(invocation.settings.config, 'journal')),
    links: [],
    firstNames: new Map(),
    tally: { files: 0, bytes: 0, skipped: 0 },
  };
  try {
    const options = { out, signal, parallel: lanes.files };
    await batch.run(files, { ...options, about: ({ path }: Chosen) => path }, (file) => receive(get, file));
    const named = ({ below }: ChosenFolder) => below;
    await batch.run(emptyFolders, { ...options, parallel: 1, about: named }, async (folder) =>
      makeEmpty(get, folder),
    );
    // After all folders: no link is on the way of anything. One counts once: when it is made.
    batch.done -= get.links.length;
    const about = ({ file }: Link) => file.path;
    await batch.run(get.links, { ...options, parallel: 1, about }, (link) => receiveLink(get, link));
    // Those that are deeper come first: one that is closed again lets nobody in.
    const byDepth = recorded.toSorted((a, b) => b.below.split('/').length - a.below.split('/').length);
    const unfinished = byDepth.filter(({ below }) => get.destination.isUnfinished(below));
    const attributes = new Map<ChosenFolder, Attributes>();
    const { done } = batch;
    await batch.run(unfinished, { ...options, about: named }, async (folder) => {
      attributes.set(folder, await szafa.folderAttributes(folder, { signal }));
    });
    const known = unfinished.filter((folder) => attributes.has(folder));
    await batch.run(known, { ...options, parallel: 1, about: named }, async (folder) =>
      get.destination.finish(folder.below, attributes.get(folder)!),
    );
    // What is in them has been counted.
    batch.done = done;
  } finally {
    progress.close();
  }
  if (files.length + emptyFolders.length === 0 && batch.failed === 0) {
    out.note('empty', 'there is nothing to download: the folder is empty');
  }
  summarize(out, flags['dry-run'] ? 'would get' : 'got', get.tally, began);
  batch.finish();
};

/** One that is there already stays as it is. */
function makeEmpty({ invocation, destination }: Get, { below }: ChosenFolder): void {
  const { flags, out } = invocation;
  const path = destination.claim(below, true);
  if (!flags['dry-run']) destination.ensure(below, true);
  const text = `${flags['dry-run'] ? 'would make' : 'made'} ${oneLine(path)}/`;
  out.done('folder', { from: below, path }, text);
}
