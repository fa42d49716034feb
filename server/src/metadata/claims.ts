import { ADMIN } from '@szafa/protocol';
import type { Sql } from './sql.ts';
import { NOT_DONE } from './transfer-rows.ts';
import { ALL_DIRS, joined } from './usage.ts';

const LARGER = 'CASE WHEN file_size > stored_size THEN file_size ELSE stored_size END';
const total = (what: string) => `CAST(COALESCE(SUM(${what}), 0) AS TEXT)`;

/** Whether the owner has more than their quota, with so much more: `usual`, unless they have one of their own. */
export async function isOverQuota(tx: Sql, owner: string, usual: number, more = 0): Promise<boolean> {
  const { claimed, quota } = await spaceOf(tx, owner);
  return claimed + BigInt(more) > BigInt(quota ?? usual);
}

/**
 * Bytes of the files, the clones and the transfers under way, by the larger of declared and stored. A transfer counts for
 * its creator until somebody completes it, and for that one from then on.
 */
async function spaceOf(tx: Sql, owner: string): Promise<{ claimed: bigint; quota: number | null }> {
  // One statement, so that a transfer that completes meanwhile counts once, not never.
  const [row] = await tx.query<
    Record<'high' | 'low' | 'open' | 'filing' | 'clones', string> & { quota: number | null }
  >(
    `SELECT ${total('counted_high')} AS high, ${total('counted_low')} AS low,
       (SELECT ${total(LARGER)} FROM transfers
        WHERE creator = ? AND ${NOT_DONE} AND owner IS NULL) AS open,
       (SELECT ${total(LARGER)} FROM transfers
        WHERE owner = ? AND status IN ('storing', 'failed')) AS filing,
       (SELECT ${total('g.counted')} FROM garbage g WHERE g.owner = ? AND g.claim IS NOT NULL) AS clones,
       (SELECT quota_bytes FROM users WHERE username = ?) AS quota
     FROM usage WHERE dir_id = ${ALL_DIRS} AND owner IN (?, ?)`,
    owner,
    owner,
    owner,
    owner,
    owner,
    // Files without an owner are the administrator's.
    owner === ADMIN ? '' : owner,
  );
  const { high, low, open, filing, clones, quota } = row!;
  return { claimed: joined(high, low) + BigInt(open) + BigInt(filing) + BigInt(clones), quota };
}
