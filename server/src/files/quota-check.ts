import { ADMIN, extraAllowance } from '@szafa/protocol';
import type { Sql } from '../platform/sql/sql.ts';
import { NOT_DONE } from '../transfers/transfer-rows.ts';
import { ALL_DIRS, joined } from './usage.ts';

const LARGER = 'CASE WHEN file_size > stored_size THEN file_size ELSE stored_size END';
const total = (what: string) => `CAST(COALESCE(SUM(${what}), 0) AS TEXT)`;

/** Whether the owner has more than the quota, with so much more, or more enc_params and thumbnails than it allows. `usual` holds for owners without a quota of their own. */
export async function isOverQuota(
  tx: Sql,
  owner: string,
  usual: number,
  more = { counted: 0, extra: 0 },
): Promise<boolean> {
  const { claimed, extra, quota } = await spaceOf(tx, owner);
  if (claimed + BigInt(more.counted) > BigInt(quota ?? usual)) return true;
  return extra + BigInt(more.extra) > BigInt(extraAllowance(quota ?? usual));
}

/** Only the latter: for changes that no quota counts. */
export async function isOverAllowance(tx: Sql, owner: string, usual: number): Promise<boolean> {
  const { extra, quota } = await spaceOf(tx, owner);
  return extra > BigInt(extraAllowance(quota ?? usual));
}

interface Space {
  claimed: bigint;
  extra: bigint;
  quota: number | null;
}

/**
 * Bytes of the files, the clones and the transfers under way, by the larger of declared and stored. A transfer counts for
 * its creator until somebody completes it, and for that one from then on.
 */
async function spaceOf(tx: Sql, owner: string): Promise<Space> {
  // One statement, so that a transfer that completes meanwhile counts once, not never.
  const [row] = await tx.query<
    Record<
      | 'high'
      | 'low'
      | 'open'
      | 'filing'
      | 'clones'
      | 'extra'
      | 'open_extra'
      | 'filing_extra'
      | 'clones_extra',
      string
    > & { quota: number | null }
  >(
    `SELECT ${total('counted_high')} AS high, ${total('counted_low')} AS low,
       (SELECT ${total(LARGER)} FROM transfers
        WHERE creator = ? AND ${NOT_DONE} AND owner IS NULL) AS open,
       (SELECT ${total(LARGER)} FROM transfers
        WHERE owner = ? AND status IN ('storing', 'failed')) AS filing,
       (SELECT ${total('g.clone_bytes')} FROM garbage g WHERE g.owner = ? AND g.clone_key IS NOT NULL) AS clones,
       ${total('extra_bytes')} AS extra,
       (SELECT ${total('OCTET_LENGTH(enc_params)')} FROM transfers
        WHERE creator = ? AND ${NOT_DONE} AND owner IS NULL) AS open_extra,
       (SELECT ${total('OCTET_LENGTH(enc_params)')} FROM transfers
        WHERE status IN ('storing', 'failed') AND owner = ?) AS filing_extra,
       (SELECT ${total('g.clone_extra_bytes')} FROM garbage g WHERE g.owner = ? AND g.clone_key IS NOT NULL) AS clones_extra,
       (SELECT quota_bytes FROM accounts WHERE username = ?) AS quota
     FROM usage WHERE dir_id = ${ALL_DIRS} AND owner IN (?, ?)`,
    ...Array<string>(8).fill(owner),
    // Files without an owner are the administrator's.
    owner === ADMIN ? '' : owner,
  );
  const { high, low, open, filing, clones, quota } = row!;
  const extras = [row!.extra, row!.open_extra, row!.filing_extra, row!.clones_extra];
  return {
    claimed: joined(high, low) + BigInt(open) + BigInt(filing) + BigInt(clones),
    extra: extras.reduce((sum, one) => sum + BigInt(one), 0n),
    quota,
  };
}
