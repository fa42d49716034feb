/** Checks that shares and file requests have in common for visitors, who have no account. */
import { hash } from 'node:crypto';
import type { Ending } from '@szafa/protocol';
import type { Config } from '../config.ts';
import { ApiError, TryLater } from '../platform/http/api-error.ts';
import type { RateLimiter } from '../platform/rate-limit.ts';

/** Requests per second that name a link, from one address on one node; half a minute's worth may come at once. */
const VISITS_A_SECOND = 10;

export type Refusal = 'unknown' | 'over' | 'limit';

/** A request by a visitor. */
export interface Visit {
  id: string;
  /** The address that limits apply to; see caller-address.ts. */
  network: string;
  /** Whether many people may have this address; see caller-address.ts. */
  shared: boolean;
  access: string | undefined;
}

/** Limits open uploads, or tickets, by the visitor's address. */
export interface AddressLimit {
  /** A digest: the database does not learn the address. */
  address: string;
  most: number;
}

/** An address that many people may have gets as much as the link allows, since its users cannot be told apart. */
export const addressLimit = (
  { id, network, shared }: Visit,
  { ofAddress, ofLink }: { ofAddress: number; ofLink: number },
): AddressLimit => ({
  address: hash('sha256', `${id} ${network}`, 'hex'),
  most: shared ? ofLink : ofAddress,
});

class LinkEnded extends ApiError {
  override name = 'LinkEnded';

  constructor(ended: Ending, message: string) {
    super(410, message, { extra: { ended } });
  }
}

/** Longer values are refused without hashing them. */
const MAX_ACCESS_CHARS = 100;

export const iso = (time: number) => new Date(time).toISOString();
export const isoOrNull = (time: number | null) => (time === null ? null : iso(time));

export interface VisitorDependencies {
  rateLimiter: Pick<RateLimiter, 'isTooFrequent'>;
  config: Pick<Config, 'shares'>;
  onRefusal?: (reason: Refusal) => void;
  now?: () => number;
}

export class Visitors {
  readonly #deps: VisitorDependencies;
  readonly #messages: Record<Ending, string>;

  constructor(deps: VisitorDependencies, messages: Record<Ending, string>) {
    this.#deps = deps;
    this.#messages = messages;
  }

  requireSharing(): void {
    if (!this.#deps.config.shares) throw new ApiError(403, 'sharing is switched off on this server');
  }

  /** Answers the same 404 whether the link never existed, the caller does not know it, or sharing is switched off. */
  async find<T extends object>(
    { access, network }: Visit,
    find: (accessHash: string) => Promise<T | { ending: Ending } | undefined>,
  ): Promise<T> {
    await this.limitVisits(network);
    const known = this.#deps.config.shares && access !== undefined && access.length < MAX_ACCESS_CHARS;
    const link = known ? await find(hash('sha256', access, 'hex')) : undefined;
    if (!link) throw this.unknown();
    if ('ending' in link) throw this.ended(link.ending as Ending);
    return link;
  }

  async limitVisits(network: string): Promise<void> {
    if (!(await this.#deps.rateLimiter.isTooFrequent(`visit ${network}`, VISITS_A_SECOND))) return;
    throw this.refuse('limit', new TryLater(429, 'too many requests from your address; try again later', 60));
  }

  unknown(): ApiError {
    return this.refuse('unknown', new ApiError(404, 'there is no such link'));
  }

  ended(ending: Ending): ApiError {
    return this.refuse('over', new LinkEnded(ending, this.#messages[ending]));
  }

  /** Counts a refusal and returns its error. */
  refuse(reason: Refusal, error: ApiError): ApiError {
    this.#deps.onRefusal?.(reason);
    return error;
  }
}
