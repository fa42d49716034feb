import { SzafaError } from '../errors.ts';
import { type LinkKey, linkKeyText, parseLinkKey } from '../format/link.ts';

/** A link, taken apart. @public */
export interface LinkAddress {
  server: string;
  id: string;
  key: LinkKey;
}

const LINK = /^(https?:\/\/[^\s#?]+)\/s\/([A-Za-z0-9_-]{22})\/?#([A-Za-z0-9_-]+)$/i;

/** Whether somebody means a link by it, though it may be cut off. @public */
export const looksLikeLink = (text: string): boolean => /^https?:\/\/[^\s#?]+\/s\/[^\s/]+/i.test(text.trim());

/** What people send to each other. The part behind the `#` is never sent to a service. @public */
export function linkText({ server, id, key }: LinkAddress): string {
  return `${server}/s/${id}#${linkKeyText(key)}`;
}

/** Throws where a text is no whole link. @public */
export function parseLink(text: string): LinkAddress {
  const [, server, id, fragment] = LINK.exec(text.trim()) ?? [];
  const key = fragment === undefined ? undefined : parseLinkKey(fragment);
  if (!server || !id || !key) {
    throw new SzafaError('link', 'this link is not whole: it ends with # and 64 characters behind it');
  }
  return { server, id, key };
}
