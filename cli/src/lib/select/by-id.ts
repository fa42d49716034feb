import { looksLikeLink, looksLikeRequest, parseLink, parseRequest } from '@szafa/client/node';
import { CliError } from '../../errors.ts';
import { oneLine } from '../print/text.ts';

/** Of an id, what is shown, and what names a share if it is the only one that begins so. */
export const SHOWN = 8;

const OWN = { none: 'you share nothing', hint: 'szafa shares shows what you share' };
export const RECEIVED = { none: 'nothing is shared with you', hint: 'szafa shared shows what is' };

export const CAME = { none: 'there is no delivery', hint: 'szafa deliveries shows what came' };
export const ASKED = { none: 'you have no request', hint: 'szafa requests shows what you ask for' };

function idIn(text: string): string {
  if (looksLikeRequest(text)) return parseRequest(text).id;
  return looksLikeLink(text) ? parseLink(text).id : text;
}

/** The share, or the request, that is meant by its id, the beginning of it, or the link itself. */
export function shareOf<Share extends { id: string }>(
  shares: readonly Share[],
  text: string,
  where: { none: string; hint: string } = OWN,
): Share {
  const wanted = idIn(text);
  const found = shares.filter(({ id }) => id.startsWith(wanted));
  const [first, second] = found;
  const { none, hint } = where;
  if (!first || wanted === '') throw new CliError('no-share', `${none} with the ID ${oneLine(wanted)}`, hint);
  if (second) throw new CliError('ambiguous', `several IDs begin with ${oneLine(wanted)}`, hint);
  return first;
}
