import { hash } from 'node:crypto';
import {
  checkExpiry,
  checkShare,
  type Ending,
  isShareId,
  isUsername,
  type ListedShare,
  limits,
  type OpenedShare,
  type OwnBody,
  type ReceivedShare,
  RuleError,
  type ShareBody,
  type StoredIdentity,
  type TicketBody,
} from '@szafa/protocol';
import { type Caller, requireRegistered } from '../accounts/sessions.ts';
import { type OpenContent, openDigests } from '../files/download.ts';
import type { ReadableFile } from '../files/files-table.ts';
import { unknownVolume } from '../files/refusals.ts';
import type { Metadata } from '../metadata.ts';
import { ApiError, TryLater } from '../platform/http/api-error.ts';
import { hashToken } from '../platform/ids.ts';
import type { AccountRates } from '../platform/rate-limit.ts';
import type { OpenVolume, VolumeStore } from '../platform/volumes/store.ts';
import type { FoundShare } from './shares-table.ts';
import { addressCount, iso, isoOrNull, type Visit, type VisitorDependencies, Visitors } from './visitors.ts';
import type { AddressCount } from './visits-table.ts';

/** Of names that one account asks for, on one node: so many a second, and those of half a minute at once; too slow for lists of names. */
const NAMES_A_SECOND = 1;

/** The same whether there never was one, or it is another's. */
const unknownReceived = () => new ApiError(404, 'nothing like this is shared with you');
/** The same for a name that nobody has, and for an account that cannot be used, or has no keys. */
const nobody = (extra?: { files: string[] }) =>
  new ApiError(404, 'nothing can be shared with an account of this name', extra && { extra });

const noShare = () => new ApiError(404, 'you have no such share');

const WORDS: Record<Ending, string> = {
  expired: 'this share has expired',
  'used up': 'this share is used up: it was downloaded as often as its owner allowed',
  ended: 'this share has ended: its owner has taken it back, or what it was for is gone',
};

/** Whoever asks without a token. */
export interface ShareVisit extends Visit {
  ticket: string | undefined;
}

interface Dependencies extends VisitorDependencies {
  metadata: Pick<Metadata, 'shares' | 'received' | 'accounts' | 'files'>;
  volumes: Pick<VolumeStore, 'open'>;
  onDownload?: () => void;
}

/**
 * What accounts share, and what others get of it: visitors, and accounts that something is for. A visitor shows that the link is known (`access`, made from its secret, which is never
 * sent), and takes a ticket before the first byte: that counts, in one transaction. All volumes and ranges are then read by the
 * ticket, so that neither parallel requests nor repeated ones count, and no node needs to know what another one sent.
 */
export class Shares {
  readonly #deps: Dependencies;
  readonly #visitors: Visitors;
  readonly #now: () => number;

  constructor(deps: Dependencies) {
    this.#deps = deps;
    this.#visitors = new Visitors(deps, WORDS);
    this.#now = deps.now ?? Date.now;
  }

  async create({ username, accountId }: Caller, body: ShareBody): Promise<void> {
    requireRegistered(username);
    this.#visitors.requireOn();
    checkShare(body);
    const { access, to } = body;
    if (to?.username === username) throw new RuleError('to: these are your own files');
    if (to && !(await this.#knows(to))) await this.#requireFewNames(accountId);
    if (to && !isUsername(to.username)) throw nobody({ files: [] });
    const now = this.#now();
    const made = await this.#deps.metadata.shares.create({
      id: body.id,
      owner: username,
      accountId,
      files: body.files,
      header: body.header,
      // One of the two is there: see checkShare.
      for: to ?? { accessHash: access! },
      own: body.own,
      now,
      expiresAt: checkExpiry(body.expires_at, now),
      downloads: body.downloads ?? null,
    });
    if (made === 'taken') throw new ApiError(409, 'there is another share of this id');
    if (made === 'too many') throw new ApiError(409, 'you share too much; end some of your shares');
    if (made === 'nobody') throw nobody({ files: [] });
    if (made === 'no identity') throw new ApiError(409, 'this account has no public keys to share with');
    if (made === 'overfilled')
      throw new ApiError(409, 'so much is shared with this account that it gets no more');
    if (typeof made === 'object')
      throw new ApiError(404, 'some of these are no files of yours', { extra: { files: made.unknown } });
  }

  async list({ username }: Caller): Promise<ListedShare[]> {
    requireRegistered(username);
    const now = this.#now();
    const rows = await this.#deps.metadata.shares.list(username);
    const latestFirst = rows.toSorted((a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1));
    return latestFirst.map((row) => ({
      id: row.id,
      own: row.own,
      to: row.recipient,
      created_at: iso(row.created_at),
      expires_at: isoOrNull(row.expires_at),
      downloads: row.downloads,
      downloaded: row.downloaded,
      files: row.files,
      missing: row.end_reason === null ? row.files - row.present : 0,
      ended: row.end_reason ?? endingOf(row, now),
    }));
  }

  async writeOwn({ username }: Caller, id: string, { own, match }: OwnBody): Promise<void> {
    requireRegistered(username);
    const written = isShareId(id) && (await this.#deps.metadata.shares.writeOwn(id, username, own, match));
    if (!written) throw noShare();
    if (written === 'changed') throw new ApiError(412, 'this is not what you have seen beside the share');
  }

  async end({ username }: Caller, id: string): Promise<void> {
    requireRegistered(username);
    if (!(await this.#deps.metadata.shares.end(id, this.#now(), 'account', username))) throw noShare();
  }

  /** What others know an account by. */
  async identity({ accountId }: Caller, username: string): Promise<StoredIdentity> {
    await this.#requireFewNames(accountId);
    const { accounts } = this.#deps.metadata;
    const identity = isUsername(username) ? await accounts.identity(username) : undefined;
    if (identity === undefined) throw nobody();
    return { username, identity };
  }

  /** Whether somebody who asks for a name has its keys already. */
  async #knows({ username, identity }: NonNullable<ShareBody['to']>): Promise<boolean> {
    if (identity === undefined || !isUsername(username)) return false;
    const known = await this.#deps.metadata.accounts.identity(username);
    return known !== undefined && hash('sha256', known, 'hex') === identity;
  }

  /** Wherever an answer tells whether somebody has a name: all of these count together. */
  async #requireFewNames(accountId: string): Promise<void> {
    if (await this.#deps.rateLimiter.isTooFrequent(`names ${accountId}`, NAMES_A_SECOND))
      throw new TryLater(429, 'you have asked for too many names; try again later', 60);
  }

  /** What is for the caller, and not over. */
  async received({ username, accountId }: Caller): Promise<ReceivedShare[]> {
    requireRegistered(username);
    if (!this.#deps.config.shares) return [];
    const rows = await this.#deps.metadata.received.list(accountId, this.#now());
    const latestFirst = rows.toSorted((a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1));
    return latestFirst.map((row) => ({
      ...{ id: row.id, from: row.owner, identity: row.identity, letter: row.letter },
      created_at: iso(row.created_at),
      expires_at: isoOrNull(row.expires_at),
      downloads_left: leftOf(row),
      files: row.files,
      missing: row.files - row.present,
    }));
  }

  async openReceived(caller: Caller, id: string, ticket: string | undefined): Promise<OpenedShare> {
    return this.#open(id, await this.#findReceived(caller, id), ticket);
  }

  async takeReceived(caller: Caller, id: string, { ticket }: TicketBody): Promise<string> {
    return this.#take(id, ticket, () => this.#findReceived(caller, id));
  }

  async endReceived({ username, accountId }: Caller, id: string): Promise<void> {
    requireRegistered(username);
    const ended = isShareId(id) && (await this.#deps.metadata.received.end(id, accountId, this.#now()));
    if (!ended) throw unknownReceived();
  }

  /** What a link opens. */
  async open(visit: ShareVisit): Promise<OpenedShare> {
    return this.#open(visit.id, await this.#find(visit), visit.ticket);
  }

  /** One that is used up opens for whoever has a ticket. */
  async #open(id: string, share: FoundShare, ticket: string | undefined): Promise<OpenedShare> {
    const { shares } = this.#deps.metadata;
    const left = leftOf(share);
    if (left === 0) {
      const holds = ticket !== undefined && (await shares.hasTicket(id, hashToken(ticket), this.#now()));
      if (!holds) throw this.#visitors.over('used up');
    }
    const present = new Set(await shares.present(id));
    if (present.size === 0) throw this.#visitors.over('ended');
    const all = Array.from({ length: share.files }, (_, at) => at + 1);
    return {
      header: await shares.header(id),
      expires_at: isoOrNull(share.expires_at),
      downloads_left: left,
      missing: all.filter((number) => !present.has(number)),
    };
  }

  /** Until when the ticket reads. */
  async takeTicket(visit: ShareVisit, { ticket }: TicketBody): Promise<string> {
    const most = { ofAddress: limits.ticketsOfAddress, ofLink: limits.ticketsOfShare };
    return this.#take(visit.id, ticket, () => this.#find(visit), addressCount(visit, most));
  }

  /** `from`: where a visitor takes it; an account that it is for has no other visitors to keep out. */
  async #take(
    id: string,
    ticket: string,
    find: () => Promise<FoundShare>,
    from?: AddressCount,
  ): Promise<string> {
    await find();
    const taken = await this.#deps.metadata.shares.takeTicket(id, hashToken(ticket), this.#now(), { from });
    if (taken === 'used up') throw this.#visitors.over('used up');
    if (taken === 'over') {
      // Since it was found; by now it says why.
      await find();
      throw this.#visitors.over('expired');
    }
    if (taken === 'crowded') {
      const busy = 'too many download this at the same time; try again later';
      throw this.#visitors.refused('limit', new TryLater(429, busy, 3600));
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
  ): Promise<{ file: ReadableFile; sha256: string; volume: OpenVolume; paced: AccountRates }> {
    const { fileId, file, paced } = await this.#readable({ id, ticket, network }, number, idx);
    if (!file.volume) throw unknownVolume();
    const volume = await this.#deps.volumes.open(fileId, file.volume, whole);
    if (!volume) throw unknownVolume();
    return { file, sha256: file.volume.sha256, volume, paced };
  }

  /** The digests of all volumes of a shared file, and at whose rate they are sent. */
  async openDigests(visit: ShareVisit, number: number): Promise<OpenContent & { paced: AccountRates }> {
    const { fileId, paced } = await this.#readable(visit, number, 1);
    return { ...openDigests(await this.#deps.metadata.files.volumes(fileId)), paced };
  }

  /** A file of a share and one of its volumes, for a ticket. */
  async #readable(
    { id, ticket, network }: Pick<ShareVisit, 'id' | 'ticket' | 'network'>,
    number: number,
    idx: number,
  ): Promise<{ fileId: string; file: ReadableFile; paced: AccountRates }> {
    const { metadata, config } = this.#deps;
    // A database does not take every number.
    const possible = number <= limits.shareFiles && idx <= limits.volumesPerFile;
    const found =
      config.shares && ticket !== undefined && possible
        ? await metadata.shares.readable(id, hashToken(ticket), number, idx, this.#now())
        : undefined;
    if (!found) {
      await this.#visitors.requireSeldom(network);
      const none = 'there is no such link, ticket or file';
      throw this.#visitors.refused('unknown', new ApiError(404, none));
    }
    const { fileId, file, username, downloadRate } = found;
    return { fileId, file, paced: { username, downloadRate, uploadRate: null } };
  }

  #find(visit: Visit): Promise<FoundShare> {
    const { shares } = this.#deps.metadata;
    return this.#visitors.find(visit, (accessHash) => shares.find(visit.id, { accessHash }, this.#now()));
  }

  async #findReceived({ username, accountId: recipientId }: Caller, id: string): Promise<FoundShare> {
    requireRegistered(username);
    const { config, metadata } = this.#deps;
    const possible = config.shares && isShareId(id);
    const found = possible ? await metadata.shares.find(id, { recipientId }, this.#now()) : undefined;
    if (!found) throw this.#visitors.refused('unknown', unknownReceived());
    if ('ending' in found) throw this.#visitors.over(found.ending);
    return found;
  }
}

/** Null: any number. */
const leftOf = ({ downloads, downloaded }: Pick<FoundShare, 'downloads' | 'downloaded'>) =>
  downloads === null ? null : Math.max(0, downloads - downloaded);

function endingOf(
  { expires_at, downloads, downloaded }: Pick<FoundShare, 'expires_at' | 'downloads' | 'downloaded'>,
  now: number,
): Ending | null {
  if (expires_at !== null && expires_at <= now) return 'expired';
  return downloads !== null && downloaded >= downloads ? 'used up' : null;
}
