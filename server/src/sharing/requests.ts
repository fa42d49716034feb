import {
  checkExpiry,
  checkStreamedInit,
  checkUpload,
  type Ending,
  type ListedRequest,
  limits,
  type OpenedRequest,
  type RequestBody,
  RuleError,
  type UploadBody,
} from '@szafa/protocol';
import { type Caller, requireRegistered } from '../accounts/sessions.ts';
import type { Config } from '../config.ts';
import type { Metadata } from '../metadata.ts';
import { ApiError, DetailError, TryLater } from '../platform/http/api-error.ts';
import { hashToken } from '../platform/ids.ts';
import type { Transfers } from '../transfers/transfers.ts';
import type { Bounds, Creation, NewIds } from '../transfers/transfers-table.ts';
import type { FoundRequest, NoRoom } from './requests-table.ts';
import { addressCount, iso, isoOrNull, type Visit, type VisitorDependencies, Visitors } from './visitors.ts';

const WORDS: Record<Ending, string> = {
  expired: 'this link has expired: nothing can be uploaded by it any more',
  'used up': 'this link takes no more files',
  ended: 'this link has ended: its owner has taken it back',
};

interface Dependencies extends VisitorDependencies {
  metadata: Pick<Metadata, 'requests'>;
  transfers: Pick<Transfers, 'begin'>;
  config: Pick<Config, 'shares' | 'maxVolumeBytes'>;
  onUpload?: () => void;
}

/**
 * What accounts ask for, and what visitors upload for it. A visitor shows that the link is known, as with shares, and begins an upload
 * under a token of its own: a streamed transfer of the owner's whose sizes are said at once, so that it is counted, in one transaction,
 * before its first byte. From then on it is as any other transfer, which the token reaches and nothing else.
 */
export class Requests {
  readonly #deps: Dependencies;
  readonly #visitors: Visitors;
  readonly #now: () => number;

  constructor(deps: Dependencies) {
    this.#deps = deps;
    this.#visitors = new Visitors(deps, WORDS);
    this.#now = deps.now ?? Date.now;
  }

  async create({ username, accountId }: Caller, body: RequestBody): Promise<void> {
    requireRegistered(username);
    this.#visitors.requireOn();
    const { id, header, access: accessHash, own, max_files: files, max_bytes: bytes } = body;
    const now = this.#now();
    const expiresAt = checkExpiry(body.expires_at, now);
    const fields = { id, owner: username, accountId, header, accessHash, own, files, bytes, now, expiresAt };
    const made = await this.#deps.metadata.requests.create(fields);
    if (made === 'taken') throw new ApiError(409, 'there is another request of this id');
    if (made === 'too many') throw new ApiError(409, 'you have too many requests; end some of them');
  }

  async list({ username }: Caller): Promise<ListedRequest[]> {
    requireRegistered(username);
    const now = this.#now();
    const rows = await this.#deps.metadata.requests.list(username);
    const latestFirst = rows.toSorted((a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1));
    return latestFirst.map(({ id, own, files, bytes, uploading, ...row }) => {
      const delivered = row.begun - uploading;
      const isOver = row.expires_at !== null && row.expires_at <= now;
      return {
        ...{ id, own, max_files: files, max_bytes: bytes, uploading, delivered },
        delivered_bytes: row.begun_bytes - row.uploading_bytes,
        created_at: iso(row.created_at),
        expires_at: isoOrNull(row.expires_at),
        ended: row.end_reason ?? (isOver ? 'expired' : delivered >= files ? 'used up' : null),
      };
    });
  }

  async end({ username }: Caller, id: string): Promise<void> {
    requireRegistered(username);
    if (!(await this.#deps.metadata.requests.end(id, this.#now(), 'account', username)))
      throw new ApiError(404, 'you have no such request');
  }

  async open(visit: Visit): Promise<OpenedRequest> {
    const { header, expires_at, files, bytes, begun, begun_bytes } = await this.#find(visit);
    return {
      header,
      expires_at: isoOrNull(expires_at),
      ...left({ files: files - begun, bytes: bytes - begun_bytes }),
    };
  }

  /** The transfer that the token is for from now on. */
  async begin(visit: Visit, { upload_token: token, chunk_count, chunks }: UploadBody): Promise<string> {
    const { metadata, transfers, config, onUpload } = this.#deps;
    const { owner: username, account_id: accountId } = await this.#find(visit);
    const tokenHash = hashToken(token);
    const begun = () => metadata.requests.transferOf(visit.id, tokenHash);
    const before = await begun();
    if (before !== undefined) return before;
    const init = checkStreamedInit({ streamed: true, chunk_count, chunks }, config.maxVolumeBytes);
    checkUpload(init);
    const maker = { username, accountId, sessionId: visit.id };
    const most = { ofAddress: limits.uploadsOfAddress, ofLink: limits.uploadsOfRequest };
    const from = addressCount(visit, most);
    let same: string | undefined;
    const create = async (ids: Required<NewIds>, bounds: Bounds): Promise<Creation> => {
      const result = await metadata.requests.begin(visit.id, tokenHash, init, ids, bounds, { from });
      if (result === 'taken') {
        // The same one has come twice in this moment; or it is a visitor of two requests who draws no token for each.
        same = await begun();
        if (same === undefined) throw new RuleError('upload_token: it is that of another upload');
      }
      if (result === 'over') {
        // Since it was found; by now it says why.
        await this.#find(visit);
        throw this.#visitors.over('expired');
      }
      if (result === 'crowded') throw this.#visitors.refused('limit', busy());
      if (typeof result === 'object') throw this.#visitors.refused('over', full(result));
      return result;
    };
    try {
      const transferId = await transfers.begin(init, maker, create);
      onUpload?.();
      return transferId;
    } catch (error) {
      if (same !== undefined) return same;
      // Its account is gone since it was found, which is no word of whoever has the link.
      throw error instanceof DetailError ? this.#visitors.unknown() : error;
    }
  }

  #find(visit: Visit): Promise<FoundRequest> {
    const { requests } = this.#deps.metadata;
    return this.#visitors.find(visit, (accessHash) => requests.find(visit.id, accessHash, this.#now()));
  }
}

const left = ({ files, bytes }: NoRoom) => ({
  files_left: Math.max(0, files),
  bytes_left: Math.max(0, bytes),
});

const full = (room: NoRoom) =>
  new ApiError(409, 'this link takes no more files, or none as large as this one', { extra: left(room) });
const busy = () => new TryLater(429, 'too many upload by this link at the same time; try again later', 60);
