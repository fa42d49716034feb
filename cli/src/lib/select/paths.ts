import { oneLine, shorten } from '../print/text.ts';

/** A typed path on the server, without the slashes around it. */
export function typedPath(text: string): string {
  return text.replace(/^\/+|\/+$/g, '');
}

/** A path in a message. */
export const shownName = (name: string) => `"${shorten(oneLine(name), 120)}"`;
