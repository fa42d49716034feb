/** What stands between visitors, who have no account, and what they may know: the same for shares and requests. */
import { hash } from 'node:crypto';
import type { Ending } from '@szafa/protocol';
import type { Config } from '../config.ts';
import { ApiError, TryLater } from '../platform/http/api-error.ts';
import type { RateLimiter } from '../platform/rate-limit.ts';
import type { AddressCount } from './visits-table.ts';

/** Of requests that name a link, from one address on one node: so many a second, and those of half a minute at once. */
const VISITS_A_SECOND = 10;

export type Refusal = 'unknown' | 'over' | 'limit';

/** Whoever asks without a token. */
export interface Visit {
  id: string;
  /** What limits go by; see caller-address.ts. */
  network: string;
  /** Many people may have this address; see caller-address.ts. */
  shared: boolean;
  access: string | undefined;
}

/** An address that many people may have gets as much as the link has: it cannot be told who of them it is. */
export const addressCount = (
  { id, network, shared }: Visit,
  { ofAddress, ofLink }: { ofAddress: number; ofLink: number },
): AddressCount => ({
  address: hash('sha256', `${id} ${network}`, 'hex'),
  most: shared ? ofLink : ofAddress,
});

class LinkOver extends ApiError {
  override name = 'LinkOver';

  constructor(ended: Ending, message: string) {
    super(410, message, { extra: { ended } });
  }
}

/** Longer ones are not even hashed. */
const MOST_CHARS = 100;

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
  readonly #words: Record<Ending, string>;

  constructor(deps: VisitorDependencies, words: Record<Ending, string>) {
    this.#deps = deps;
    this.#words = words;
  }

  /** Before an account gives visitors something to do. */
  requireOn(): void {
    if (!this.#deps.config.shares) throw new ApiError(403, 'sharing is switched off on this server');
  }

  /** What a link is for. The same answer whether there never was one, the caller does not know it, or nothing is shared here at all. */
  async find<T extends object>(
    { access, network }: Visit,
    find: (accessHash: string) => Promise<T | { ending: Ending } | undefined>,
  ): Promise<T> {
    await this.requireSeldom(network);
    const known = this.#deps.config.shares && access !== undefined && access.length < MOST_CHARS;
    const found = known ? await find(hash('sha256', access, 'hex')) : undefined;
    if (!found) throw this.unknown();
    if ('ending' in found) throw this.over(found.ending as Ending);
    return found;
  }

  async requireSeldom(network: string): Promise<void> {
    if (!(await this.#deps.rateLimiter.isTooFrequent(`visit ${network}`, VISITS_A_SECOND))) return;
    throw this.refused(
      'limit',
      new TryLater(429, 'too many requests from your address; try again later', 60),
    );
  }

  unknown(): ApiError {
    return this.refused('unknown', new ApiError(404, 'there is no such link'));
  }

  over(ending: Ending): ApiError {
    return this.refused('over', new LinkOver(ending, this.#words[ending]));
  }

  /** Counts it. */
  refused(reason: Refusal, error: ApiError): ApiError {
    this.#deps.onRefusal?.(reason);
    return error;
  }
}
