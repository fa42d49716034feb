import { hash } from 'node:crypto';
import {
  checkExpiry,
  checkShare,
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
import { openDigests } from '../files/download.ts';
import { unknownVolume } from '../files/refusals.ts';
import type { Metadata } from '../metadata.ts';
import { ApiError, TryLater } from '../platform/http/api-error.ts';
import { hashToken } from '../platform/ids.ts';
import { iso, isoOrNull, newestFirst } from '../platform/time.ts';
import type { VolumeStore } from '../platform/volumes/store.ts';
import { type AddressLimit, addressLimit, type LinkDependencies, Links, type Visit } from './links.ts';
import { endingAt } from './links-table.ts';
import { unknownRecipient } from './share-rows.ts';
import type { ActiveShare } from './shares-table.ts';

/**
 * Names that an account may look up per second, on one node; half a minute's worth may come at once. Too slow for trying out
 * lists of names.
 */
const NAMES_A_SECOND = 1;

/** The same answer whether the share never existed or is for another account. */
const NOT_RECEIVED = 'nothing like this is shared with you';
const unknownShare = () => new ApiError(404, 'you have no such share');

interface Dependencies extends LinkDependencies {
  metadata: Pick<Metadata, 'shares' | 'accounts' | 'files'>;
  volumes: Pick<VolumeStore, 'open'>;
  onDownload: () => void;
}

/**
 * Shares, for their owners, for visitors with a link, and for accounts that receive them. A visitor proves knowledge of the
 * link (`access` is derived from the link's secret, which is never sent) and takes a ticket before the first byte, which
 * counts one download in one transaction. The ticket then reads all volumes and ranges: parallel and repeated requests do not
 * count, and nodes need not know what others have sent.
 */
export class Shares extends Links<Dependencies> {
  protected readonly endedMessages = {
    expired: 'this share has expired',
    'used up': 'this share has reached its maximum number of downloads',
    ended: 'this share has ended: its owner ended it, or its files were deleted',
  };

  async create({ username: owner, accountId }: Caller, body: ShareBody): Promise<void> {
    requireRegistered(owner);
    this.requireSharing();
    checkShare(body);
    const { to } = body;
    if (to?.username === owner) throw new RuleError('to: you cannot share with yourself');
    if (to && !(await this.#knowsIdentity(to))) await this.#limitLookups(accountId);
    if (to && !isUsername(to.username)) throw unknownRecipient({ files: [] });
    const now = Date.now();
    const expiresAt = checkExpiry(body.expires_at, now);
    await this.deps.metadata.shares.create({ ...body, owner, accountId, now, expiresAt });
  }

  async list({ username }: Caller): Promise<ListedShare[]> {
    requireRegistered(username);
    const now = Date.now();
    const rows = await this.deps.metadata.shares.list(username);
    return newestFirst(rows).map((row) => ({
      ...{ id: row.id, own: row.own, to: row.recipient, files: row.files },
      created_at: iso(row.created_at),
      expires_at: isoOrNull(row.expires_at),
      ...{ downloads: row.downloads, downloaded: row.downloaded },
      missing: row.end_reason === null ? row.files - row.present : 0,
      ended: endingAt(row, now) ?? (downloadsLeft(row) === 0 ? 'used up' : null),
    }));
  }

  async writeOwn({ username }: Caller, id: string, { own, match }: OwnBody): Promise<void> {
    requireRegistered(username);
    const written = isShareId(id) && (await this.deps.metadata.shares.writeOwn(id, username, own, match));
    if (!written) throw unknownShare();
    if (written === 'changed') throw new ApiError(412, 'the note of this share has changed in the meantime');
  }

  async end({ username }: Caller, id: string): Promise<void> {
    requireRegistered(username);
    if (!(await this.deps.metadata.shares.end(id, Date.now(), 'account', username))) throw unknownShare();
  }

  /** Returns the public keys of an account. */
  async identity({ accountId }: Caller, username: string): Promise<StoredIdentity> {
    await this.#limitLookups(accountId);
    const { accounts } = this.deps.metadata;
    const identity = isUsername(username) ? await accounts.identity(username) : undefined;
    if (identity === undefined) throw unknownRecipient();
    return { username, identity };
  }

  /** Whether the caller already has the account's public keys. */
  async #knowsIdentity({ username, identity }: NonNullable<ShareBody['to']>): Promise<boolean> {
    if (identity === undefined || !isUsername(username)) return false;
    const known = await this.deps.metadata.accounts.identity(username);
    return known !== undefined && hash('sha256', known, 'hex') === identity;
  }

  /** One limit for all answers that reveal whether a name exists. */
  async #limitLookups(accountId: string): Promise<void> {
    if (await this.deps.rateLimiter.isTooFrequent(`names ${accountId}`, NAMES_A_SECOND))
      throw new TryLater(429, 'too many lookups of names; try again later', 60);
  }

  /** Lists the open shares that the caller has received. */
  async listReceived({ username, accountId }: Caller): Promise<ReceivedShare[]> {
    requireRegistered(username);
    if (!this.deps.config.shares) return [];
    const rows = await this.deps.metadata.shares.listReceived(accountId, Date.now());
    return newestFirst(rows).map((row) => ({
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
    const ended = isShareId(id) && (await this.deps.metadata.shares.endReceived(id, accountId, Date.now()));
    if (!ended) throw new ApiError(404, NOT_RECEIVED);
  }

  async open(visit: Visit): Promise<OpenedShare> {
    return this.#open(visit.id, await this.#find(visit), visit.ticket);
  }

  /** Opens a share. A used-up share still opens for the holder of a ticket. */
  async #open(id: string, share: ActiveShare, ticket: string | undefined): Promise<OpenedShare> {
    const { shares } = this.deps.metadata;
    const left = downloadsLeft(share);
    if (left === 0) {
      const holds = ticket !== undefined && (await shares.hasTicket(id, hashToken(ticket), Date.now()));
      if (!holds) throw this.ended('used up');
    }
    const present = new Set(await shares.present(id));
    if (present.size === 0) throw this.ended('ended');
    const all = Array.from({ length: share.files }, (_, at) => at + 1);
    return {
      header: await shares.header(id),
      expires_at: isoOrNull(share.expires_at),
      downloads_left: left,
      missing: all.filter((number) => !present.has(number)),
    };
  }

  /** Takes a ticket and returns its expiry. */
  async takeTicket(visit: Visit, { ticket }: TicketBody): Promise<string> {
    const most = { ofAddress: limits.ticketsOfAddress, ofLink: limits.ticketsOfShare };
    return this.#take(visit.id, ticket, () => this.#find(visit), addressLimit(visit, most));
  }

  /** `from` limits visitors; a share for one account has no other visitors to protect. */
  async #take(id: string, ticket: string, find: () => Promise<ActiveShare>, from?: AddressLimit) {
    await find();
    const taken = await this.deps.metadata.shares.takeTicket(id, hashToken(ticket), Date.now(), { from });
    if (taken === 'used up') throw this.ended('used up');
    if (taken === 'ended') {
      // The share ended in the meantime; find() throws the reason.
      await find();
      throw this.ended('expired');
    }
    if (taken === 'busy') {
      const busy = 'too many downloads of this share at the same time; try again later';
      throw this.refuse('limit', new TryLater(429, busy, 3600));
    }
    if (taken.isNew) this.deps.onDownload();
    return iso(taken.expiresAt);
  }

  /** Opens a volume of a shared file. `paced`: the account whose download rate applies. */
  async openVolume(visit: Visit, { number, idx }: { number: number; idx: number }, whole: boolean) {
    const { fileId, file, paced } = await this.#readable(visit, number, idx);
    const volume = file.volume && (await this.deps.volumes.open(fileId, file.volume, whole));
    if (!volume) throw unknownVolume();
    return { file, sha256: file.volume!.sha256, volume, paced };
  }

  /** Opens the digests of all volumes of a shared file. */
  async openDigests(visit: Visit, number: number) {
    const { fileId, paced } = await this.#readable(visit, number, 1);
    return { ...openDigests(await this.deps.metadata.files.volumes(fileId)), paced };
  }

  /** Finds a file of a share and one of its volumes, for the holder of a ticket. */
  async #readable({ id, ticket, network }: Visit, number: number, idx: number) {
    const { metadata, config } = this.deps;
    // Larger numbers do not fit the database's columns.
    const possible = number <= limits.shareFiles && idx <= limits.volumesPerFile;
    const found =
      config.shares && ticket !== undefined && possible
        ? await metadata.shares.readable(id, hashToken(ticket), number, idx, Date.now())
        : undefined;
    if (found) return found;
    await this.limitVisits(network);
    throw this.unknown('there is no such link, ticket or file');
  }

  #find(visit: Visit): Promise<ActiveShare> {
    const { shares } = this.deps.metadata;
    return this.findVisited(visit, (accessHash) => shares.find(visit.id, { accessHash }, Date.now()));
  }

  async #findReceived({ username, accountId: recipientId }: Caller, id: string): Promise<ActiveShare> {
    requireRegistered(username);
    const { config, metadata } = this.deps;
    const possible = config.shares && isShareId(id);
    const found = possible ? await metadata.shares.find(id, { recipientId }, Date.now()) : undefined;
    return this.requireOpen(found, NOT_RECEIVED);
  }
}

/** Returns null if downloads are unlimited. */
const downloadsLeft = ({ downloads, downloaded }: Pick<ActiveShare, 'downloads' | 'downloaded'>) =>
  downloads === null ? null : Math.max(0, downloads - downloaded);
