import {
  checkEnd,
  checkShare,
  type Ending,
  type ListedShare,
  limits,
  type OpenedShare,
  type ShareBody,
  type TicketBody,
} from '@szafa/protocol';
import type { Config } from '../config.ts';
import { ServiceError, TryLater, unknownVolume } from '../errors.ts';
import type { ReadableFile } from '../metadata/files.ts';
import type { Metadata } from '../metadata/metadata.ts';
import type { FoundShare } from '../metadata/shares.ts';
import type { OpenVolume, VolumeStore } from '../volumes/store.ts';
import { hashToken } from './ids.ts';
import type { Pace, Paced } from './pace.ts';
import { type Caller, requireRegistered } from './sessions.ts';
import { type Refusal, type Visit, Visitors } from './visitors.ts';

const iso = (time: number) => new Date(time).toISOString();
const isoOrNull = (time: number | null) => (time === null ? null : iso(time));

const HOUR_SECONDS = 3600;

const WORDS: Record<Ending, string> = {
  expired: 'this link has expired',
  'used up': 'this link is used up: it was downloaded as often as its owner allowed',
  ended: 'this link has ended: its owner has taken it back, or what it was for is gone',
};

/** Whoever asks without a token. */
export interface ShareVisit extends Visit {
  ticket: string | undefined;
}

interface Dependencies {
  metadata: Pick<Metadata, 'shares'>;
  volumes: Pick<VolumeStore, 'open'>;
  pace: Pick<Pace, 'isTooOften'>;
  config: Pick<Config, 'shares'>;
  onDownload?: () => void;
  onRefusal?: (reason: Refusal) => void;
  now?: () => number;
}

/**
 * What accounts share, and what visitors get of it. A visitor shows that the link is known (`access`, made from its secret, which is never
 * sent), and takes a ticket before the first byte: that counts, in one transaction. All volumes and ranges are then read by the
 * ticket, so that neither parallel requests nor repeated ones count, and no node needs to know what another one sent.
 */
export class Shares {
  readonly #deps: Dependencies;
  readonly #visitors: Visitors;
  readonly #now: () => number;

  constructor(deps: Dependencies) {
    this.#deps = deps;
    this.#visitors = new Visitors(deps, WORDS, deps.onRefusal);
    this.#now = deps.now ?? Date.now;
  }

  async create({ username, accountId }: Caller, body: ShareBody): Promise<void> {
    requireRegistered(username);
    if (!this.#deps.config.shares) throw new ServiceError(403, 'sharing is switched off on this server');
    checkShare(body);
    const now = this.#now();
    const made = await this.#deps.metadata.shares.create({
      id: body.id,
      owner: username,
      accountId,
      files: body.files,
      header: body.header,
      accessHash: body.access,
      own: body.own,
      now,
      expiresAt: checkEnd(body.expires_at, now),
      downloads: body.downloads ?? null,
    });
    if (made === 'taken') throw new ServiceError(409, 'there is another share of this id');
    if (made === 'too many') throw new ServiceError(409, 'you share too much; end some of your shares');
    if (made === 'too often')
      throw new TryLater(429, 'too much has been done to this account today; try again later', HOUR_SECONDS);
    if (typeof made === 'object')
      throw new ServiceError(404, 'some of these are no files of yours', { extra: { files: made.unknown } });
  }

  async list({ username }: Caller): Promise<ListedShare[]> {
    requireRegistered(username);
    const now = this.#now();
    const rows = await this.#deps.metadata.shares.list(username);
    const latestFirst = rows.toSorted((a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1));
    return latestFirst.map((row) => ({
      id: row.id,
      own: row.own,
      created_at: iso(row.created_at),
      expires_at: isoOrNull(row.expires_at),
      downloads: row.downloads,
      downloaded: row.downloaded,
      files: row.files,
      missing: row.ending === null ? row.files - row.present : 0,
      ended: row.ending ?? endingOf(row, now),
    }));
  }

  async end({ username }: Caller, id: string): Promise<void> {
    requireRegistered(username);
    if (!(await this.#deps.metadata.shares.end(id, this.#now(), 'account', username)))
      throw new ServiceError(404, 'you have no such share');
  }

  /** What a link opens. One that is used up opens for whoever has a ticket. */
  async open(visit: ShareVisit): Promise<OpenedShare> {
    const share = await this.#find(visit);
    const { shares } = this.#deps.metadata;
    const left = share.downloads === null ? null : Math.max(0, share.downloads - share.downloaded);
    if (left === 0) {
      const holds = visit.ticket && (await shares.hasTicket(visit.id, hashToken(visit.ticket), this.#now()));
      if (!holds) throw this.#visitors.over('used up');
    }
    const present = new Set(await shares.present(visit.id));
    if (present.size === 0) throw this.#visitors.over('ended');
    const all = Array.from({ length: share.files }, (_, at) => at + 1);
    return {
      header: await shares.header(visit.id),
      expires_at: isoOrNull(share.expires_at),
      downloads_left: left,
      missing: all.filter((number) => !present.has(number)),
    };
  }

  /** Until when the ticket reads. */
  async takeTicket(visit: ShareVisit, { ticket }: TicketBody): Promise<string> {
    await this.#find(visit);
    const taken = await this.#deps.metadata.shares.takeTicket(visit.id, hashToken(ticket), this.#now());
    if (taken === 'used up') throw this.#visitors.over('used up');
    if (taken === 'over') throw this.#visitors.over('expired');
    if (taken === 'crowded') {
      const busy = 'too many download this at the same time; try again later';
      throw this.#visitors.refused('limit', new TryLater(429, busy, HOUR_SECONDS));
    }
    if (taken.isNew) this.#deps.onDownload?.();
    return iso(taken.expiresAt);
  }

  /** A volume and what travels in its headers, and at whose rate it is sent. */
  async openVolume(
    { id, ticket, network }: ShareVisit,
    number: number,
    idx: number,
    whole: boolean,
  ): Promise<{ file: ReadableFile; sha256: string; volume: OpenVolume; paced: Paced }> {
    const { metadata, volumes, config } = this.#deps;
    // A database does not take every number.
    const possible = number <= limits.shareFiles && idx <= limits.volumesPerFile;
    const found =
      config.shares && ticket !== undefined && possible
        ? await metadata.shares.readable(id, hashToken(ticket), number, idx, this.#now())
        : undefined;
    if (!found) {
      await this.#visitors.requireSeldom(network);
      const none = 'there is no such link, ticket or file';
      throw this.#visitors.refused('unknown', new ServiceError(404, none));
    }
    const { fileId, file, username, downloadRate } = found;
    if (!file.volume) throw unknownVolume();
    const volume = await volumes.open(fileId, file.volume, whole);
    if (!volume) throw unknownVolume();
    return { file, sha256: file.volume.sha256, volume, paced: { username, downloadRate, uploadRate: null } };
  }

  #find(visit: Visit): Promise<FoundShare> {
    const { shares } = this.#deps.metadata;
    return this.#visitors.find(visit, (accessHash) => shares.find(visit.id, accessHash, this.#now()));
  }
}

function endingOf(
  { expires_at, downloads, downloaded }: Pick<FoundShare, 'expires_at' | 'downloads' | 'downloaded'>,
  now: number,
): Ending | null {
  if (expires_at !== null && expires_at <= now) return 'expired';
  return downloads !== null && downloaded >= downloads ? 'used up' : null;
}
