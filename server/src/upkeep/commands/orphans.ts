import {
  CONTESTED,
  ignoreBroken,
  type Report,
  reportBroken,
  UsageError,
} from '../../operator/commands/report.ts';
import { recordedOrphans } from '../orphans.ts';
import type { Pair } from './pair.ts';
import { FileRescue } from './rescue-files.ts';

export const ORPHANS_USAGE = `usage: szafa-server orphans list
       szafa-server orphans take ID… | --all
       szafa-server orphans remove ID… | --all

Orphans are volume groups without a file or upload. The server searches for them once a day, and fsck does as well.
An orphan with a manifest was a file, and stays until you decide about it. An orphan without one was left by a crash;
the server deletes it a day later, unless there are so many that something else must be wrong.

  list     show each orphan, when it was first seen, and the content of its manifest
  take     turn orphans with a manifest into files again, for the accounts that they belonged to
  remove   have the server delete them, including those with a manifest

Can run while the server does.`;

export async function decideOrphans(
  pair: Pair,
  [what, ...ids]: string[],
  all: boolean,
  report: Report,
): Promise<void> {
  if (what === 'list' && ids.length === 0 && !all) await listOrphans(pair, report);
  else if (what === 'take') await takeOrphans(pair, chosen(pair, ids, all), report);
  else if (what === 'remove') await removeOrphans(pair, chosen(pair, ids, all), report);
  else throw new UsageError('orphans needs list, take or remove; see szafa-server orphans --help');
}

async function listOrphans({ metadata, volumes }: Pair, report: Report): Promise<void> {
  for await (const { file_id: id, first_seen } of recordedOrphans(metadata)) {
    const isFile = await volumes.hasManifest(id);
    const manifest = isFile ? await volumes.manifest(id).catch(ignoreBroken) : undefined;
    report.line({
      orphan: id,
      first_seen: new Date(first_seen).toISOString(),
      volumes: (await volumes.received(id)).length,
      ...(manifest && { owner: manifest.owner, size: manifest.size, created_at: manifest.created_at }),
    });
    report.count(isFile ? 'orphans with a manifest' : 'orphans without a manifest');
  }
}

async function removeOrphans({ metadata }: Pair, ids: AsyncIterable<string>, report: Report): Promise<void> {
  if ((await metadata.store.get()).contestedAt !== null) throw new UsageError(CONTESTED);
  for await (const id of ids) {
    if (await metadata.orphans.makeGarbage(id, Date.now())) report.count('orphans removed');
    else report.problem('groups that are not orphans', { group: id });
  }
}

async function takeOrphans(pair: Pair, ids: AsyncIterable<string>, report: Report): Promise<void> {
  const files = new FileRescue({ pair, mode: 'missing', report, file: undefined });
  for await (const id of ids) await files.take(id).catch(reportBroken(report));
}

/** Yields the named orphans, each of which must exist, or all. */
async function* chosen({ metadata }: Pair, ids: string[], all: boolean): AsyncGenerator<string> {
  if (all === ids.length > 0) throw new UsageError('name orphans, or use --all, but not both');
  const wanted = new Set(ids);
  for await (const { file_id: id } of recordedOrphans(metadata)) {
    if (all || wanted.delete(id)) yield id;
  }
  const [unknown] = wanted;
  if (unknown !== undefined)
    throw new UsageError(`${unknown} is not an orphan; see "szafa-server orphans list"`);
}
