import { randomBytes } from 'node:crypto';
import type { Cidrs } from './addresses.ts';

/** The id of a request: in its answer, and in every line that is logged for it. */
export const REQUEST_ID = 'x-request-id';

/** What a proxy may call a request: what fits a header and a line of any log. */
const GIVEN = /^[\w.-]{1,64}$/;

/** Unique over all processes of all nodes, and cheap: random once, then counted. */
const origin = randomBytes(8).toString('hex');
let count = 0;
export const newRequestId = () => `${origin}-${(++count).toString(36)}`;

export type RequestIds = (given: string | string[] | undefined, remote: string | undefined) => string;

/** A proxy that is trusted may have named the request already; a client's own name could be that of another one. */
export function requestIds(trusted: Cidrs): RequestIds {
  return (given, remote) => {
    const isTrusted = typeof given === 'string' && GIVEN.test(given) && trusted.contains(remote ?? '');
    return isTrusted ? given : newRequestId();
  };
}
