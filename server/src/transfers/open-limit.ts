import { limits } from '@szafa/protocol';
import { hold, type Sql } from '../platform/sql/sql.ts';
import { NOT_DONE, OPEN, openCounts } from './transfer-rows.ts';

/** So many inits of one account are not at work in the same instant. */
const INITS_AT_ONCE = 64;

/** The limits that an account has of its own, as a query by its transfers finds them. */
const ownMost = (column: string) =>
  `(SELECT ${column} FROM accounts WHERE accounts.username = transfers.creator)`;
export const OWN_MOST = `${ownMost('open_transfers')} AS own_transfers, ${ownMost('open_volumes')} AS own_volumes`;

/** What the statement that inserted a transfer saw: `OPEN` and `OWN_MOST`. */
export interface Crowd {
  open: string;
  own_transfers: number | null;
  own_volumes: number | null;
}

/** Whether the creator has more open than they may: so many as `usual` says, or as their own limits do. */
export async function isCrowded(
  tx: Sql,
  creator: string,
  seen: Crowd,
  usual: { transfers: number; volumes: number },
): Promise<boolean> {
  const most = {
    transfers: seen.own_transfers ?? usual.transfers,
    volumes: seen.own_volumes ?? usual.volumes,
  };
  const passes = (open: string, moreTransfers: number, moreVolumes: number) => {
    const { transfers, volumes } = openCounts(open);
    return transfers + moreTransfers > most.transfers || volumes + moreVolumes > most.volumes;
  };
  // What others insert at this moment is not seen. Only where it could matter does one init wait for another.
  if (!passes(seen.open, INITS_AT_ONCE, INITS_AT_ONCE * limits.volumesPerFile)) return false;
  await hold(tx, `account ${creator}`);
  const [now] = await tx.query<{ open: string }>(
    `SELECT ${OPEN} AS open FROM transfers WHERE creator = ? AND ${NOT_DONE} LIMIT 1`,
    creator,
  );
  return passes(now!.open, 0, 0);
}
