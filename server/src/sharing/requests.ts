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
import type { Creation, UploadLimits } from '../transfers/create-transfer.ts';
import type { NewTransferIds } from '../transfers/transfer-rows.ts';
import type { Transfers } from '../transfers/transfers.ts';
import type { ActiveRequest, RemainingLimits } from './requests-table.ts';
import { addressLimit, iso, isoOrNull, type Visit, type VisitorDependencies, Visitors } from './visitors.ts';

const ENDED_MESSAGES: Record<Ending, string> = {
  expired: 'this link has expired',
  'used up': 'this link takes no more files',
  ended: 'the owner has ended this link',
};

interface Dependencies extends VisitorDependencies {
  metadata: Pick<Metadata, 'requests'>;
  transfers: Pick<Transfers, 'begin'>;
  config: Pick<Config, 'shares' | 'maxVolumeBytes'>;
  onUpload?: () => void;
}

/**
 * File requests and the uploads of visitors. A visitor proves knowledge of the link, as for shares, and starts an upload
 * under a token of its own: a streamed transfer of the owner with declared sizes, which one transaction counts before its
 * first byte. From then on it is a transfer like any other; the token reaches it and nothing else.
 */
export class Requests {
  readonly #deps: Dependencies;
  readonly #visitors: Visitors;
  readonly #now: () => number;

  constructor(deps: Dependencies) {
    this.#deps = deps;
    this.#visitors = new Visitors(deps, ENDED_MESSAGES);
    this.#now = deps.now ?? Date.now;
  }

  async create({ username, accountId }: Caller, body: RequestBody): Promise<void> {
    requireRegistered(username);
    this.#visitors.requireSharing();
    const { id, header, access: accessHash, own, max_files: files, max_bytes: bytes } = body;
    const now = this.#now();
    const expiresAt = checkExpiry(body.expires_at, now);
    const fields = { id, owner: username, accountId, header, accessHash, own, files, bytes, now, expiresAt };
    const made = await this.#deps.metadata.requests.create(fields);
    if (made === 'taken') throw new ApiError(409, 'a request with this id exists already');
    if (made === 'too many') throw new ApiError(409, 'too many file requests; end some of them');
  }

  async list({ username }: Caller): Promise<ListedRequest[]> {
    requireRegistered(username);
    const now = this.#now();
    const rows = await this.#deps.metadata.requests.list(username);
    const newestFirst = rows.toSorted((a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1));
    return newestFirst.map(({ id, own, files, bytes, uploading, ...row }) => {
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
      throw new ApiError(404, 'you have no such file request');
  }

  async open(visit: Visit): Promise<OpenedRequest> {
    const { header, expires_at, files, bytes, begun, begun_bytes } = await this.#find(visit);
    return {
      header,
      expires_at: isoOrNull(expires_at),
      ...left({ files: files - begun, bytes: bytes - begun_bytes }),
    };
  }

  /** Returns the transfer of the token, new or existing. */
  async begin(visit: Visit, { upload_token: token, chunk_count, chunks }: UploadBody): Promise<string> {
    const { metadata, transfers, config, onUpload } = this.#deps;
    const { owner: username, account_id: accountId } = await this.#find(visit);
    const tokenHash = hashToken(token);
    const findTransfer = () => metadata.requests.findTransfer(visit.id, tokenHash);
    const existing = await findTransfer();
    if (existing !== undefined) return existing;
    const init = checkStreamedInit({ streamed: true, chunk_count, chunks }, config.maxVolumeBytes);
    checkUpload(init);
    const creator = { username, accountId, sessionId: visit.id };
    const most = { ofAddress: limits.uploadsOfAddress, ofLink: limits.uploadsOfRequest };
    const from = addressLimit(visit, most);
    let same: string | undefined;
    const create = async (ids: Required<NewTransferIds>, bounds: UploadLimits): Promise<Creation> => {
      const result = await metadata.requests.begin(visit.id, tokenHash, init, ids, bounds, { from });
      if (result === 'taken') {
        // Either the same request arrived twice at once, or another link's upload has this token.
        same = await findTransfer();
        if (same === undefined) throw new RuleError('upload_token: another upload has this token');
      }
      if (result === 'ended') {
        // It ended in the meantime; find() says why.
        await this.#find(visit);
        throw this.#visitors.ended('expired');
      }
      if (result === 'busy') throw this.#visitors.refuse('limit', busy());
      if (typeof result === 'object') throw this.#visitors.refuse('over', full(result));
      return result;
    };
    try {
      const transferId = await transfers.begin(init, creator, create);
      onUpload?.();
      return transferId;
    } catch (error) {
      if (same !== undefined) return same;
      // The owner's account was deleted in the meantime; the visitor sees only that the link is gone.
      throw error instanceof DetailError ? this.#visitors.unknown() : error;
    }
  }

  #find(visit: Visit): Promise<ActiveRequest> {
    const { requests } = this.#deps.metadata;
    return this.#visitors.find(visit, (accessHash) => requests.find(visit.id, accessHash, this.#now()));
  }
}

const left = ({ files, bytes }: RemainingLimits) => ({
  files_left: Math.max(0, files),
  bytes_left: Math.max(0, bytes),
});

const full = (remaining: RemainingLimits) =>
  new ApiError(409, 'this link takes no more files, or none as large as this one', {
    extra: left(remaining),
  });
const busy = () => new TryLater(429, 'too many uploads by this link at the same time; try again later', 60);
