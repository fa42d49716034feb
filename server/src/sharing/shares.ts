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
import type { ActiveShare } from './share-rows.ts';
import {
  type AddressLimit,
  addressLimit,
  iso,
  isoOrNull,
  type Visit,
  type VisitorDependencies,
  Visitors,
} from './visitors.ts';

/** Names that an account may look up per second, on one node; half a minute's worth at once. Too slow to try lists of names. */
const NAMES_A_SECOND = 1;

/** The same whether the share never existed or is for another account. */
const unknownReceived = () => new ApiError(404, 'nothing like this is shared with you');
/** The same for unknown names, and for accounts that are disabled, being deleted or without public keys. */
const unknownRecipient = (extra?: { files: string[] }) =>
  new ApiError(404, 'nothing can be shared with an account of this name', extra && { extra });

const unknownShare = () => new ApiError(404, 'you have no such share');

const ENDED_MESSAGES: Record<Ending, string> = {
  expired: 'this share has expired',
  'used up': 'this share has reached its maximum number of downloads',
  ended: 'this share has ended: its owner ended it, or its files were deleted',
};

export interface ShareVisit extends Visit {
  ticket: string | undefined;
}

interface Dependencies extends VisitorDependencies {
  metadata: Pick<Metadata, 'shares' | 'accounts' | 'files'>;
  volumes: Pick<VolumeStore, 'open'>;
  onDownload?: () => void;
}

/**
 * Shares, for their owners, for visitors with a link, and for accounts that receive them. A visitor proves knowledge of the
 * link (`access`, derived from its secret, which is never sent) and takes a ticket before the first byte; that counts one
 * download, in one transaction. The ticket then reads all volumes and ranges, so parallel and repeated requests do not
 * count, and nodes need not know what others have sent.
 */
export class Shares {
  readonly #deps: Dependencies;
  readonly #visitors: Visitors;
  readonly #now: () => number;

  constructor(deps: Dependencies) {
    this.#deps = deps;
    this.#visitors = new Visitors(deps, ENDED_MESSAGES);
    this.#now = deps.now ?? Date.now;
  }

  async create({ username, accountId }: Caller, body: ShareBody): Promise<void> {
    requireRegistered(username);
    this.#visitors.requireSharing();
    checkShare(body);
    const { access, to } = body;
    if (to?.username === username) throw new RuleError('to: you cannot share with yourself');
    if (to && !(await this.#knowsIdentity(to))) await this.#limitLookups(accountId);
    if (to && !isUsername(to.username)) throw unknownRecipient({ files: [] });
    const now = this.#now();
    const result = await this.#deps.metadata.shares.create({
      id: body.id,
      owner: username,
      accountId,
      files: body.files,
      header: body.header,
      // checkShare requires one of the two.
      for: to ?? { accessHash: access! },
      own: body.own,
      now,
      expiresAt: checkExpiry(body.expires_at, now),
      downloads: body.downloads ?? null,
    });
    if (result === 'taken') throw new ApiError(409, 'a share with this id exists already');
    if (result === 'too many') throw new ApiError(409, 'too many shares; end some of them');
    if (result === 'unknown account') throw unknownRecipient({ files: [] });
    if (result === 'owner has no identity')
      throw new ApiError(
        409,
        'your account has no public keys yet; log in with a current client to create them',
      );
    if (result === 'too many for recipient')
      throw new ApiError(409, 'the recipient has reached the share limit');
    if (typeof result === 'object')
      throw new ApiError(404, 'some of these files are not yours, or do not exist', {
        extra: { files: result.unknown },
      });
  }

  async list({ username }: Caller): Promise<ListedShare[]> {
    requireRegistered(username);
    const now = this.#now();
    const rows = await this.#deps.metadata.shares.list(username);
    const newestFirst = rows.toSorted((a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1));
    return newestFirst.map((row) => ({
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
    if (!written) throw unknownShare();
    if (written === 'changed') throw new ApiError(412, 'the note of this share has changed in the meantime');
  }

  async end({ username }: Caller, id: string): Promise<void> {
    requireRegistered(username);
    if (!(await this.#deps.metadata.shares.end(id, this.#now(), 'account', username))) throw unknownShare();
  }

  /** The public keys of an account. */
  async identity({ accountId }: Caller, username: string): Promise<StoredIdentity> {
    await this.#limitLookups(accountId);
    const { accounts } = this.#deps.metadata;
    const identity = isUsername(username) ? await accounts.identity(username) : undefined;
    if (identity === undefined) throw unknownRecipient();
    return { username, identity };
  }

  /** Whether the caller has the account's keys already. */
  async #knowsIdentity({ username, identity }: NonNullable<ShareBody['to']>): Promise<boolean> {
    if (identity === undefined || !isUsername(username)) return false;
    const known = await this.#deps.metadata.accounts.identity(username);
    return known !== undefined && hash('sha256', known, 'hex') === identity;
  }

  /** Applies to every answer that shows whether a name exists; all of them count together. */
  async #limitLookups(accountId: string): Promise<void> {
    if (await this.#deps.rateLimiter.isTooFrequent(`names ${accountId}`, NAMES_A_SECOND))
      throw new TryLater(429, 'too many lookups of names; try again later', 60);
  }

  /** Lists open shares for the caller. */
  async listReceived({ username, accountId }: Caller): Promise<ReceivedShare[]> {
    requireRegistered(username);
    if (!this.#deps.config.shares) return [];
    const rows = await this.#deps.metadata.shares.listReceived(accountId, this.#now());
    const newestFirst = rows.toSorted((a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1));
    return newestFirst.map((row) => ({
      ...{ id: row.id, from: row.owner, identity: row.identity, letter: row.letter },
      created_at: iso(row.created_at),
      expires_at: isoOrNull(row.expires_at),
      downloads_left: downloadsLeft(row),
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
    const ended = isShareId(id) && (await this.#deps.metadata.shares.endReceived(id, accountId, this.#now()));
    if (!ended) throw unknownReceived();
  }

  async open(visit: ShareVisit): Promise<OpenedShare> {
    return this.#open(visit.id, await this.#find(visit), visit.ticket);
  }

  /** A used-up share still opens for holders of a ticket. */
  async #open(id: string, share: ActiveShare, ticket: string | undefined): Promise<OpenedShare> {
    const { shares } = this.#deps.metadata;
    const left = downloadsLeft(share);
    if (left === 0) {
      const holds = ticket !== undefined && (await shares.hasTicket(id, hashToken(ticket), this.#now()));
      if (!holds) throw this.#visitors.ended('used up');
    }
    const present = new Set(await shares.present(id));
    if (present.size === 0) throw this.#visitors.ended('ended');
    const all = Array.from({ length: share.files }, (_, at) => at + 1);
    return {
      header: await shares.header(id),
      expires_at: isoOrNull(share.expires_at),
      downloads_left: left,
      missing: all.filter((number) => !present.has(number)),
    };
  }

  /** Returns when the ticket expires. */
  async takeTicket(visit: ShareVisit, { ticket }: TicketBody): Promise<string> {
    const most = { ofAddress: limits.ticketsOfAddress, ofLink: limits.ticketsOfShare };
    return this.#take(visit.id, ticket, () => this.#find(visit), addressLimit(visit, most));
  }

  /** `from` applies to visitors; a share for one account has no other visitors to protect. */
  async #take(
    id: string,
    ticket: string,
    find: () => Promise<ActiveShare>,
    from?: AddressLimit,
  ): Promise<string> {
    await find();
    const taken = await this.#deps.metadata.shares.takeTicket(id, hashToken(ticket), this.#now(), { from });
    if (taken === 'used up') throw this.#visitors.ended('used up');
    if (taken === 'ended') {
      // It ended in the meantime; find() says why.
      await find();
      throw this.#visitors.ended('expired');
    }
    if (taken === 'busy') {
      const busy = 'too many downloads of this share at the same time; try again later';
      throw this.#visitors.refuse('limit', new TryLater(429, busy, 3600));
    }
    if (taken.isNew) this.#deps.onDownload?.();
    return iso(taken.expiresAt);
  }

  /** `paced`: the account whose download rate applies. */
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

  /** Opens the digests of all volumes of a shared file. */
  async openDigests(visit: ShareVisit, number: number): Promise<OpenContent & { paced: AccountRates }> {
    const { fileId, paced } = await this.#readable(visit, number, 1);
    return { ...openDigests(await this.#deps.metadata.files.volumes(fileId)), paced };
  }

  /** Finds a file of a share and one of its volumes for a ticket. */
  async #readable(
    { id, ticket, network }: Pick<ShareVisit, 'id' | 'ticket' | 'network'>,
    number: number,
    idx: number,
  ): Promise<{ fileId: string; file: ReadableFile; paced: AccountRates }> {
    const { metadata, config } = this.#deps;
    // Larger numbers do not fit into the database's columns.
    const possible = number <= limits.shareFiles && idx <= limits.volumesPerFile;
    const found =
      config.shares && ticket !== undefined && possible
        ? await metadata.shares.readable(id, hashToken(ticket), number, idx, this.#now())
        : undefined;
    if (!found) {
      await this.#visitors.limitVisits(network);
      const none = 'there is no such link, ticket or file';
      throw this.#visitors.refuse('unknown', new ApiError(404, none));
    }
    const { fileId, file, username, downloadRate } = found;
    return { fileId, file, paced: { username, downloadRate, uploadRate: null } };
  }

  #find(visit: Visit): Promise<ActiveShare> {
    const { shares } = this.#deps.metadata;
    return this.#visitors.find(visit, (accessHash) => shares.find(visit.id, { accessHash }, this.#now()));
  }

  async #findReceived({ username, accountId: recipientId }: Caller, id: string): Promise<ActiveShare> {
    requireRegistered(username);
    const { config, metadata } = this.#deps;
    const possible = config.shares && isShareId(id);
    const found = possible ? await metadata.shares.find(id, { recipientId }, this.#now()) : undefined;
    if (!found) throw this.#visitors.refuse('unknown', unknownReceived());
    if ('ending' in found) throw this.#visitors.ended(found.ending);
    return found;
  }
}

/** Null: no limit. */
const downloadsLeft = ({ downloads, downloaded }: Pick<ActiveShare, 'downloads' | 'downloaded'>) =>
  downloads === null ? null : Math.max(0, downloads - downloaded);

function endingOf(
  { expires_at, downloads, downloaded }: Pick<ActiveShare, 'expires_at' | 'downloads' | 'downloaded'>,
  now: number,
): Ending | null {
  if (expires_at !== null && expires_at <= now) return 'expired';
  return downloads !== null && downloaded >= downloads ? 'used up' : null;
}
