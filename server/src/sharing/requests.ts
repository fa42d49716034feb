import {
  checkExpiry,
  checkStreamedInit,
  checkUpload,
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
import { iso, isoOrNull, newestFirst } from '../platform/time.ts';
import type { Transfers } from '../transfers/transfers.ts';
import { addressLimit, type LinkDependencies, Links, type Visit } from './links.ts';
import { endingAt } from './links-table.ts';
import type { RemainingLimits } from './requests-table.ts';

interface Dependencies extends LinkDependencies {
  metadata: Pick<Metadata, 'requests'>;
  transfers: Pick<Transfers, 'begin'>;
  config: Pick<Config, 'shares' | 'maxVolumeBytes'>;
  onUpload: () => void;
}

/**
 * File requests and the uploads of visitors. A visitor proves knowledge of the link, as for shares, and starts an upload
 * under a token of its own. The upload is a streamed transfer of the owner with declared sizes, counted in one transaction
 * before its first byte. From then on it is a transfer like any other; the token gives access to nothing else.
 */
export class Requests extends Links<Dependencies> {
  protected readonly endedMessages = {
    expired: 'this link has expired',
    'used up': 'this link takes no more files',
    ended: 'the owner has ended this link',
  };

  async create({ username: owner, accountId }: Caller, body: RequestBody): Promise<void> {
    requireRegistered(owner);
    this.requireSharing();
    const now = Date.now();
    const expiresAt = checkExpiry(body.expires_at, now);
    await this.deps.metadata.requests.create({ ...body, owner, accountId, now, expiresAt });
  }

  async list({ username }: Caller): Promise<ListedRequest[]> {
    requireRegistered(username);
    const now = Date.now();
    const rows = await this.deps.metadata.requests.list(username);
    return newestFirst(rows).map(({ id, own, files, bytes, uploading, ...row }) => {
      const delivered = row.begun - uploading;
      return {
        ...{ id, own, max_files: files, max_bytes: bytes, uploading, delivered },
        delivered_bytes: row.begun_bytes - row.uploading_bytes,
        created_at: iso(row.created_at),
        expires_at: isoOrNull(row.expires_at),
        ended: endingAt(row, now) ?? (delivered >= files ? 'used up' : null),
      };
    });
  }

  async end({ username }: Caller, id: string): Promise<void> {
    requireRegistered(username);
    if (!(await this.deps.metadata.requests.end(id, Date.now(), 'account', username)))
      throw new ApiError(404, 'you have no such file request');
  }

  async open(visit: Visit): Promise<OpenedRequest> {
    const { header, expires_at, files, bytes, begun, begun_bytes } = await this.#find(visit);
    const left = toLeft({ files: files - begun, bytes: bytes - begun_bytes });
    return { header, expires_at: isoOrNull(expires_at), ...left };
  }

  /** Returns the transfer of the token, new or existing. */
  async begin(visit: Visit, { upload_token: token, chunk_count, chunks }: UploadBody): Promise<string> {
    const { transfers, config, onUpload } = this.deps;
    const { requests } = this.deps.metadata;
    const { owner: username, account_id: accountId } = await this.#find(visit);
    const tokenHash = hashToken(token);
    const existing = await requests.findTransfer(visit.id, tokenHash);
    if (existing !== undefined) return existing;
    const init = checkStreamedInit({ streamed: true, chunk_count, chunks }, config.maxVolumeBytes);
    checkUpload(init);
    const creator = { username, accountId, sessionId: visit.id };
    const from = addressLimit(visit, { ofAddress: limits.uploadsOfAddress, ofLink: limits.uploadsOfRequest });
    let same: string | undefined;
    const create: Parameters<Transfers['begin']>[2] = async (ids, bounds) => {
      const result = await requests.begin(visit.id, tokenHash, init, ids, bounds, { from });
      if (result === 'taken') {
        // Either the same HTTP request arrived twice at once, or an upload of another link has this token.
        same = await requests.findTransfer(visit.id, tokenHash);
        if (same === undefined) throw new RuleError('upload_token: another upload has this token');
      }
      if (result === 'ended') {
        // The file request ended in the meantime; #find throws the reason.
        await this.#find(visit);
        throw this.ended('expired');
      }
      if (result === 'busy') throw this.refuse('limit', busy());
      if (typeof result === 'object') throw this.refuse('over', full(result));
      return result;
    };
    try {
      const transferId = await transfers.begin(init, creator, create);
      onUpload();
      return transferId;
    } catch (error) {
      if (same !== undefined) return same;
      // The owner's account has been deleted in the meantime; the visitor learns only that the link is gone.
      throw error instanceof DetailError ? this.unknown() : error;
    }
  }

  #find(visit: Visit) {
    const { requests } = this.deps.metadata;
    return this.findVisited(visit, (accessHash) => requests.find(visit.id, accessHash, Date.now()));
  }
}

const toLeft = ({ files, bytes }: RemainingLimits) => ({
  files_left: Math.max(0, files),
  bytes_left: Math.max(0, bytes),
});

const full = (remaining: RemainingLimits) =>
  new ApiError(409, 'this link takes no more files, or none as large as this one', {
    extra: toLeft(remaining),
  });
const busy = () => new TryLater(429, 'too many uploads by this link at the same time; try again later', 60);
