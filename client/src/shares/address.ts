import { SzafaError } from '../errors.ts';
import { type LinkKey, linkKeyText, parseLinkKey } from '../format/link.ts';
import { parseRequestKey, type RequestKey, requestKeyText } from '../format/request.ts';

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

/** The link of a request, taken apart. @public */
export interface RequestAddress {
  server: string;
  id: string;
  key: RequestKey;
}

const REQUEST = /^(https?:\/\/[^\s#?]+)\/r\/([A-Za-z0-9_-]{22})\/?#([A-Za-z0-9_-]+)$/i;

/** Whether somebody means the link of a request by it, though it may be cut off. @public */
export const looksLikeRequest = (text: string): boolean =>
  /^https?:\/\/[^\s#?]+\/r\/[^\s/]+/i.test(text.trim());

/** What people send to each other. The part behind the `#` is never sent to a service. @public */
export function requestText({ server, id, key }: RequestAddress): string {
  return `${server}/r/${id}#${requestKeyText(key)}`;
}

/** Throws where a text is no whole link of a request. @public */
export function parseRequest(text: string): RequestAddress {
  const [, server, id, fragment] = REQUEST.exec(text.trim()) ?? [];
  const key = fragment === undefined ? undefined : parseRequestKey(fragment);
  if (!server || !id || !key) {
    throw new SzafaError('link', 'this link is not whole: it ends with # and 86 characters behind it');
  }
  return { server, id, key };
}
