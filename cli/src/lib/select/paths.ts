import { oneLine, shorten } from '../print/text.ts';

/** A path on the server as somebody types it: from the top, with or without the slashes around it. */
export function typedPath(text: string): string {
  return text.replace(/^\/+|\/+$/g, '');
}

/** In a message. */
export const shownName = (name: string) => `"${shorten(oneLine(name), 120)}"`;
