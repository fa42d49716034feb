import {
  type LinkKey,
  linkKeyText,
  parseLinkKey,
  parseRequestKey,
  type RequestKey,
  requestKeyText,
} from '@szafa/format';
import { isShareId } from '@szafa/protocol';
import { SzafaError } from '../errors.ts';

interface Address<Key> {
  server: string;
  id: string;
  key: Key;
}

/** A link, taken apart. @public */
export type LinkAddress = Address<LinkKey>;

/** The link of a request, taken apart. @public */
export type RequestAddress = Address<RequestKey>;

/** What people send to each other: `{server}/{letter}/{id}#{key}`. The part behind the `#` is never sent to a service. */
class AddressKind<Key> {
  readonly #letter: string;
  readonly #chars: number;
  readonly #keyOf: (text: string) => Key | undefined;

  /** `chars`: how many there are behind the `#`. */
  constructor(letter: string, chars: number, keyOf: (text: string) => Key | undefined) {
    this.#letter = letter;
    this.#chars = chars;
    this.#keyOf = keyOf;
  }

  looksLike(text: string): boolean {
    return new RegExp(`^https?://[^\\s#?]+/${this.#letter}/[^\\s/]+`, 'i').test(text.trim());
  }

  parse(text: string): Address<Key> {
    const whole = new RegExp(`^(https?://[^\\s#?]+)/${this.#letter}/([^\\s/#]+)/?#([A-Za-z0-9_-]+)$`, 'i');
    const [, server, id, fragment] = whole.exec(text.trim()) ?? [];
    const key = fragment === undefined ? undefined : this.#keyOf(fragment);
    if (!server || !id || !isShareId(id) || !key) {
      const message = `this link is not whole: it ends with # and ${this.#chars} characters behind it`;
      throw new SzafaError('link', message);
    }
    return { server, id, key };
  }
}

const LINK = new AddressKind('s', 64, parseLinkKey);
const REQUEST = new AddressKind('r', 86, parseRequestKey);

/** Whether somebody means a link by it, though it may be cut off. @public */
export const looksLikeLink = (text: string): boolean => LINK.looksLike(text);

/** @public */
export const linkText = ({ server, id, key }: LinkAddress): string => `${server}/s/${id}#${linkKeyText(key)}`;

/** Throws where a text is no whole link. @public */
export const parseLink = (text: string): LinkAddress => LINK.parse(text);

/** Whether somebody means the link of a request by it, though it may be cut off. @public */
export const looksLikeRequest = (text: string): boolean => REQUEST.looksLike(text);

/** @public */
export const requestText = ({ server, id, key }: RequestAddress): string =>
  `${server}/r/${id}#${requestKeyText(key)}`;

/** Throws where a text is no whole link of a request. @public */
export const parseRequest = (text: string): RequestAddress => REQUEST.parse(text);
