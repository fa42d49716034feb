/** The database is lost, and rebuilt from the volume store: in the page everybody signs in as before. */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { Between } from '../cross/between.ts';
import { Command } from '../engines/commands.ts';
import { eventually, withService } from '../harness/index.ts';
import { download, register, row, signIn, signOut, upload, useChromium } from './browser.ts';

const browser = useChromium();
const ENV = { SZ_SWEEP_INTERVAL: '1', SZ_WORKERS: '1' };

test('after rescue the page opens everything with the same password', async () => {
  await withService({ env: ENV }, async (service) => {
    // An address that stays, so that the browser holds the rescued keys against those that it has seen.
    await using between = await Between.start(service.url);
    const { page } = await browser.visit(between.url);
    const username = await register(page);
    await upload(page, await browser.file('rescued.txt', 'from the volumes alone'));
    const database = join(service.data, 'szafa.db');
    await eventually(async () => {
      const look = new DatabaseSync(database, { timeout: 5000 });
      const left = look.prepare('SELECT account_id FROM account_documents WHERE rev > written_rev').all();
      look.close();
      assert.deepEqual(left, [], 'the document of the account is written');
    });
    await signOut(page);
    await service.terminate();
    for (const ending of ['', '-wal', '-shm']) await rm(`${database}${ending}`, { force: true });
    const passwords = join(service.home, 'passwords');
    const rescue = new Command(
      ['rescue', '--json', '--passwords', passwords],
      { ...ENV, SZ_DATA: service.data },
      service.home,
    );
    const { code, lines, errors } = await rescue.ended;
    assert.equal(code, 0, errors);
    assert.equal(lines.at(-1)?.['files'], 1);
    await service.start();
    between.target = service.url;

    await page.reload();
    await signIn(page, username);
    await row(page, 'rescued.txt').waitFor();
    assert.equal((await download(page, 'rescued.txt')).toString(), 'from the volumes alone');
    await page.context().close();
  });
});
