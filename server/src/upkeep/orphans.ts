import type { Metadata } from '../metadata.ts';
import type { Uses } from '../parts.ts';
import { Service } from '../platform/service.ts';
import type { OrphanRound } from './orphans-table.ts';

const DAY_MS = 86_400_000;
/** A younger unknown group may belong to an init in progress. */
const YOUNG_MS = 3_600_000;
/** Limits the duration of a slice, so that garbage does not wait for ten million groups. */
const SLICE_MS = 1_000;
const PAGE = 1_000;
/** More orphans than this cannot be leftovers of crashes. */
const MOST = 1_000;
const FEW = 20;
const MOST_PART = 0.05;

type Group = { id: string; changedAt: number };

/**
 * Searches for volume groups without a file or transfer, once a day, a slice at a time, and records them. A group with a
 * manifest was a file, so an operator decides about it. A group without one was left by a crash and is removed a day after it
 * was first seen, unless the search found so many that something else must be wrong.
 */
export class OrphanSearch extends Service<Uses<'metadata' | 'volumes' | 'log' | 'metrics'>> {
  async work(now: number, sliceMs = SLICE_MS): Promise<void> {
    const { orphans } = this.deps.metadata;
    let round = await orphans.round();
    if (round.after === null) {
      if (now - round.beganAt < DAY_MS) return;
      round = { beganAt: now, after: '', groups: 0, orphans: 0 };
    }
    const until = performance.now() + sliceMs;
    for await (const groups of pages(this.deps.volumes.groups(round.after!))) {
      const found = await splitKnown(this.deps.metadata, groups, now);
      round = {
        ...round,
        after: groups.at(-1)!.id,
        groups: round.groups + groups.length,
        orphans: round.orphans + found.unknown.length,
      };
      await orphans.keepRound(round, found, now);
      if (performance.now() > until) return;
    }
    await this.#removeOrphans(round, now);
    await orphans.keepRound({ ...round, after: null }, { known: [], unknown: [] }, now);
  }

  async #removeOrphans(round: OrphanRound, now: number): Promise<void> {
    const { metadata, volumes, log, metrics } = this.deps;
    const counts = { groups: round.groups, orphans: round.orphans };
    if (isTooMany(round)) {
      log.error(
        counts,
        'too many volume groups have no record, so none of them is deleted; see "szafa-server orphans"',
      );
      return;
    }
    for await (const { file_id: id, first_seen } of recordedOrphans(metadata)) {
      if (first_seen > now - DAY_MS || (await volumes.hasManifest(id))) continue;
      if (!(await metadata.orphans.makeGarbage(id, now))) continue;
      log.warn({ group: id }, 'deleting a volume group that has no record and no manifest');
      metrics.add('szafa_orphans_removed_total');
    }
  }
}

function isTooMany({ groups, orphans }: OrphanRound): boolean {
  return orphans > MOST || (orphans >= FEW && orphans > groups * MOST_PART);
}

/** Divides groups into known and unknown ones, omitting new unknown ones. */
export async function splitKnown(
  { orphans }: Metadata,
  groups: Group[],
  now: number,
): Promise<{ known: string[]; unknown: string[] }> {
  const known = await orphans.known(groups.map(({ id }) => id));
  const unknown = groups.filter(({ id, changedAt }) => !known.has(id) && changedAt < now - YOUNG_MS);
  return { known: [...known], unknown: unknown.map(({ id }) => id) };
}

/** Lists all recorded orphans. */
export async function* recordedOrphans({
  orphans,
}: Metadata): AsyncGenerator<{ file_id: string; first_seen: number }> {
  for (let page = await orphans.list('', PAGE); page.length > 0; ) {
    yield* page;
    page = await orphans.list(page.at(-1)!.file_id, PAGE);
  }
}

/** Collects items into pages that fit into one query. */
export async function* pages<T>(items: AsyncIterable<T>): AsyncGenerator<T[]> {
  let page: T[] = [];
  for await (const item of items) {
    if (page.push(item) < PAGE) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}
