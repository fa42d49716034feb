import assert from 'node:assert/strict';
import { test } from 'node:test';
import { insertAccount } from '../src/accounts/accounts-table.ts';
import { moveUsage } from '../src/files/quota.ts';
import { TotalsCount } from '../src/operator/totals.ts';
import { isFinished } from '../src/upkeep/checks-table.ts';
import type { Stores } from './metadata.contract.ts';
import { filed, fresh, newId } from './metadata.fixture.ts';

/** How far checks are, what they found, and the sums over all accounts. */
export function checksContract(stores: Stores): void {
  test('a check keeps how far it is, and of two who go on from one place one does', async () => {
    const [one, two] = [stores.one.checks, stores.two.checks];
    assert.ok(isFinished(await one.progress('fsck')), 'there was none');
    await filed(stores.one, fresh('u'));
    const round = await one.start('fsck', 1000);
    assert.equal(round.endSeq, await stores.one.files.newest());
    assert.deepEqual(await two.progress('fsck'), round);
    assert.ok(!isFinished(round));
    const reached = { ...round, seq: 3, idx: 7, files: 2, volumes: 9, bytes: 5_000_000_000_000, faults: 1 };
    assert.deepEqual(
      await Promise.all([
        one.save('fsck', round, reached),
        two.save('fsck', round, { ...reached, faults: 2 }),
      ]).then((kept) => kept.filter(Boolean).length),
      1,
    );
    const now = await one.progress('fsck');
    assert.equal(now.bytes, 5_000_000_000_000);
    assert.ok(await two.save('fsck', now, { ...now, endedAt: 1000 }));
    assert.ok(isFinished(await one.progress('fsck')));
    assert.equal(await one.save('fsck', now, { ...now, seq: 9 }), false, 'that one is over');
    const again = await two.start('fsck', 2000);
    assert.deepEqual([again.endedAt, again.seq, again.idx, again.faults], [1000, 0, 0, 0]);
    assert.deepEqual((await one.progress('scrub')).startedAt, 0, 'each by itself');
  });

  test('faults are noted once, forgotten by one, and end with their file', async () => {
    const { checks, fileChanges } = stores.one;
    const [kept, gone] = [await filed(stores.one, fresh('u')), await filed(stores.one, fresh('u'))];
    for (const [file_id, idx] of [
      [kept, 1],
      [kept, 2],
      [gone, 1],
    ] as const) {
      for (const fault of ['missing', 'wrong']) await checks.addFault({ file_id, idx, fault, found_at: 5 });
    }
    assert.equal(await checks.faultCount(), 3);
    assert.deepEqual(
      (await stores.two.checks.faults(100)).filter(({ file_id }) => file_id === kept),
      [1, 2].map((idx) => ({ file_id: kept, idx, fault: 'wrong', found_at: 5 })),
    );
    await checks.removeFault(kept, 1);
    await fileChanges.remove(gone, 1);
    await checks.expireFaults();
    assert.deepEqual(await checks.faults(100), [{ file_id: kept, idx: 2, fault: 'wrong', found_at: 5 }]);
    await checks.removeFault(kept, 2);
  });

  test('files are found by their numbers, each once', async () => {
    const { files } = stores.one;
    const from = (await files.newest()) + 1;
    const made: string[] = [];
    for (let i = 0; i < 5; i++) made.push(await filed(stores.one, fresh('u')));
    const found: string[] = [];
    const until = await files.newest();
    await filed(stores.one, fresh('u'));
    for (let page = await files.numbered(from, until, 2); page.length > 0; ) {
      found.push(...page.map(({ file_id }) => file_id));
      page = await files.numbered(page.at(-1)!.seq + 1, until, 2);
    }
    assert.deepEqual(found, made);
  });

  test('the totals are what all accounts have together, however many pages they take', async () => {
    const { sql } = stores;
    const small = (owner: string) =>
      ({ owner, size: 2, stored_size: 3, extra: 0, from: 'nowhere', to: 0 }) as const;
    const names = Array.from({ length: 2300 }, (_, at) => `total_${at}`);
    await sql.transaction(async (tx) => {
      for (const name of names) {
        await insertAccount(tx, { username: name, accountId: newId(), passwordHash: 'hash', createdAt: 1 });
        await moveUsage(tx, [small(name), { ...small(name), size: 3, stored_size: 4 }]);
      }
      await moveUsage(tx, [{ ...small(names[0]!), size: 2 ** 52, stored_size: 0 }]);
      for (const name of names.slice(1)) await moveUsage(tx, [{ ...small(name), from: 0, to: -2 }]);
    });
    const [expected] = await sql.query<
      Record<'accounts' | 'files' | 'low' | 'high' | 'trashLow' | 'trashHigh', number>
    >(
      `SELECT (SELECT COUNT(*) FROM accounts) AS accounts, CAST(SUM(files) AS BIGINT) AS files,
         CAST(SUM(counted_low) AS BIGINT) AS low, CAST(SUM(counted_high) AS BIGINT) AS high,
         (SELECT CAST(SUM(counted_low) AS BIGINT) FROM usage WHERE dir_id = -2) AS "trashLow",
         (SELECT CAST(SUM(counted_high) AS BIGINT) FROM usage WHERE dir_id = -2) AS "trashHigh"
       FROM usage WHERE dir_id = -1`,
    );
    const count = new TotalsCount(stores.one);
    const steps: number[] = [];
    for (let i = 0; i < 12; i++) {
      await count.step();
      steps.push((await stores.two.totals.get()).accounts);
    }
    const { accounts, files, low, high, trashLow, trashHigh } = expected!;
    const joined = (high: number, low: number) => BigInt(high) * 2n ** 32n + BigInt(low);
    const sums = { bytes: joined(high, low), trashBytes: joined(trashHigh, trashLow) };
    assert.deepEqual(await stores.two.totals.get(), { accounts, files, ...sums });
    assert.ok(sums.trashBytes >= 3n * 2299n);
    assert.ok(accounts >= 2300 && steps[0] === 0 && steps[1] === 0, 'not all of it in one round');
    await sql.execute("DELETE FROM usage WHERE owner LIKE 'total_%'");
    await sql.execute("DELETE FROM accounts WHERE username LIKE 'total_%'");
  });
}
