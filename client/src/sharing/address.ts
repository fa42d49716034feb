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

/** The parts of a link. @public */
export type LinkAddress = Address<LinkKey>;

/** The parts of a request's link. @public */
export type RequestAddress = Address<RequestKey>;

/** Addresses of the form `{server}/{letter}/{id}#{key}`. The part after the `#` never reaches a server. */
class AddressKind<Key> {
  readonly #letter: string;
  readonly #chars: number;
  readonly #keyOf: (text: string) => Key | undefined;

  /** @param chars length of the part after the `#` */
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
      const message = `this link is incomplete: it must end with # and ${this.#chars} characters`;
      throw new SzafaError('link', message);
    }
    return { server, id, key };
  }
}

const LINK = new AddressKind('s', 64, parseLinkKey);
const REQUEST = new AddressKind('r', 86, parseRequestKey);

/** Whether a text looks like a link, complete or not. @public */
export const looksLikeLink = (text: string): boolean => LINK.looksLike(text);

/** @public */
export const linkText = ({ server, id, key }: LinkAddress): string => `${server}/s/${id}#${linkKeyText(key)}`;

/** @throws SzafaError `link` if the text is not a complete link @public */
export const parseLink = (text: string): LinkAddress => LINK.parse(text);

/** Whether a text looks like the link of a request, complete or not. @public */
export const looksLikeRequest = (text: string): boolean => REQUEST.looksLike(text);

/** @public */
export const requestText = ({ server, id, key }: RequestAddress): string =>
  `${server}/r/${id}#${requestKeyText(key)}`;

/** @throws SzafaError `link` if the text is not the complete link of a request @public */
export const parseRequest = (text: string): RequestAddress => REQUEST.parse(text);
