import type { IncomingHttpHeaders } from 'node:http';
import type { KeysCondition } from './key-bags.ts';

/**
 * What If-Match or If-None-Match: * want to be there. Without either of them a client that knows nothing of what another device
 * stored would replace it.
 */
export function keysCondition(headers: IncomingHttpHeaders): KeysCondition {
  const match = headers['if-match'];
  const first = headers['if-none-match']?.trim() === '*';
  // Compared strongly: a tag that is marked as weak is none of ours.
  const tags = match?.split(',').map((tag) => tag.trim());
  return {
    isMissing: match === undefined && !first,
    fits: (tag) => {
      if (first && tag !== undefined) return false;
      return tags === undefined || (tag !== undefined && (tags.includes('*') || tags.includes(tag)));
    },
  };
}
