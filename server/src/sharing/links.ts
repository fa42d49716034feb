/** The common part of shares and file requests: links opened by visitors, who have no account. */
import { hash } from 'node:crypto';
import type { Ending } from '@szafa/protocol';
import type { Config } from '../config.ts';
import { ApiError, TryLater } from '../platform/http/api-error.ts';
import type { RateLimiter } from '../platform/rate-limit.ts';

/** Requests per second to links from one address, on one node. Half a minute's worth may come at once. */
const VISITS_A_SECOND = 10;
/** Longer values are refused without hashing them. */
const MAX_ACCESS_CHARS = 100;

/** A request by a visitor. */
export interface Visit {
  id: string;
  /** The address that limits apply to; see caller-address.ts. */
  network: string;
  /** Whether many people may share this address; see caller-address.ts. */
  shared: boolean;
  access: string | undefined;
  /** Only for a share. */
  ticket: string | undefined;
}

/** Limits open uploads or tickets of one visitor address. */
export interface AddressLimit {
  /** A digest, so that the database does not learn the address. */
  address: string;
  most: number;
}

/** An address shared by many people may use as much as the link allows, since its users cannot be told apart. */
export const addressLimit = (
  { id, network, shared }: Visit,
  { ofAddress, ofLink }: { ofAddress: number; ofLink: number },
): AddressLimit => ({
  address: hash('sha256', `${id} ${network}`, 'hex'),
  most: shared ? ofLink : ofAddress,
});

export interface LinkDependencies {
  rateLimiter: Pick<RateLimiter, 'isTooFrequent'>;
  config: Pick<Config, 'shares'>;
  onRefusal: (reason: 'unknown' | 'over' | 'limit') => void;
}

export abstract class Links<Deps extends LinkDependencies> {
  protected readonly deps: Deps;
  protected abstract readonly endedMessages: Record<Ending, string>;

  constructor(deps: Deps) {
    this.deps = deps;
  }

  protected requireSharing(): void {
    if (!this.deps.config.shares) throw new ApiError(403, 'sharing is switched off on this server');
  }

  /** Answers the same 404 whether the link never existed, the caller does not know it, or sharing is switched off. */
  protected async findVisited<T extends object>(
    { access, network }: Visit,
    find: (accessHash: string) => Promise<T | { ending: Ending } | undefined>,
  ): Promise<T> {
    await this.limitVisits(network);
    const known = this.deps.config.shares && access !== undefined && access.length < MAX_ACCESS_CHARS;
    return this.requireOpen(known ? await find(hash('sha256', access, 'hex')) : undefined);
  }

  protected requireOpen<T extends object>(
    link: T | { ending: Ending } | undefined,
    message = 'there is no such link',
  ): T {
    if (!link) throw this.unknown(message);
    if ('ending' in link) throw this.ended(link.ending);
    return link;
  }

  protected async limitVisits(network: string): Promise<void> {
    if (!(await this.deps.rateLimiter.isTooFrequent(`visit ${network}`, VISITS_A_SECOND))) return;
    throw this.refuse('limit', new TryLater(429, 'too many requests from your address; try again later', 60));
  }

  protected unknown(message = 'there is no such link'): ApiError {
    return this.refuse('unknown', new ApiError(404, message));
  }

  protected ended(ended: Ending): ApiError {
    return this.refuse('over', new ApiError(410, this.endedMessages[ended], { extra: { ended } }));
  }

  /** Counts a refusal and returns its error. */
  protected refuse(reason: Parameters<LinkDependencies['onRefusal']>[0], error: ApiError): ApiError {
    this.deps.onRefusal(reason);
    return error;
  }
}
