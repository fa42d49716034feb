import { looksLikeLink, looksLikeRequest, parseLink, parseRequest } from '@szafa/client/node';
import { CliError } from '../../errors.ts';
import { oneLine } from '../print/text.ts';

/** Characters of an ID that lists show. */
export const ID_COLUMNS = 8;

const KINDS = {
  share: { none: 'you have no share', hint: 'szafa shares shows what you share' },
  received: { none: 'nothing is shared with you', hint: 'szafa shared shows what is' },
  request: { none: 'you have no request', hint: 'szafa requests shows them' },
  delivery: { none: 'there is no delivery', hint: 'szafa deliveries shows them' },
};

function idIn(text: string): string {
  if (looksLikeRequest(text)) return parseRequest(text).id;
  return looksLikeLink(text) ? parseLink(text).id : text;
}

/** Finds a share, request or delivery by its ID, by the beginning of that, or by its link. */
export function findById<Item extends { id: string }>(
  items: readonly Item[],
  text: string,
  kind: keyof typeof KINDS,
): Item {
  const wanted = idIn(text);
  const [first, second] = items.filter(({ id }) => id.startsWith(wanted));
  const { none, hint } = KINDS[kind];
  if (!first || wanted === '') throw new CliError('no-share', `${none} with the ID ${oneLine(wanted)}`, hint);
  if (second) throw new CliError('ambiguous', `several IDs begin with ${oneLine(wanted)}`, hint);
  return first;
}
