import { looksLikeLink, type OwnLink, parseLink } from '@szafa/client/node';
import { CliError } from './errors.ts';
import { oneLine } from './text.ts';

/** Of an id, what is shown, and what names a share if it is the only one that begins so. */
export const SHOWN = 8;

/** The share that is meant by its id, the beginning of it, or the link itself. */
export function linkOf(links: readonly OwnLink[], text: string): OwnLink {
  const wanted = looksLikeLink(text) ? parseLink(text).id : text;
  const found = links.filter(({ id }) => id.startsWith(wanted));
  const [first, second] = found;
  const hint = 'szafa shares shows what you share';
  if (!first || wanted === '')
    throw new CliError('no-share', `you share nothing with the ID ${oneLine(wanted)}`, hint);
  if (second) throw new CliError('ambiguous', `several IDs begin with ${oneLine(wanted)}`, hint);
  return first;
}
