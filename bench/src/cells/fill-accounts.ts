import { randomBytes } from 'node:crypto';
import { insertAccount } from '../../../server/src/accounts/accounts-table.ts';
import { insertSession } from '../../../server/src/accounts/sessions-table.ts';
import { insertFile } from '../../../server/src/files/file-changes-table.ts';
import { USAGE_COLUMNS } from '../../../server/src/files/quota.ts';
import { hashToken, newFileId, newToken, newTransferId } from '../../../server/src/platform/ids.ts';
import { PostgresStore } from '../../../server/src/platform/sql/postgres.ts';
import type { Sql, Value } from '../../../server/src/platform/sql/sql.ts';
import { toFile } from '../../../server/src/transfers/create-transfer.ts';
import { insertTransfer, toTransfer } from '../../../server/src/transfers/transfer-rows.ts';
import { insertVolumes } from '../../../server/src/transfers/volumes-table.ts';
import { insertRow } from '../../../server/src/upkeep/commands/rows.ts';

export const nameOf = (account: number) => `account_${account}`;

/** Rows per insert. The rest is inserted in powers of two, to limit the number of prepared statements. */
const ROWS = 512;
const FILES_AT_ONCE = 10_000;
const WRITERS = 2;
const ONE_ROW = / VALUES (\((?:\?, )*\?\))/;

/**
 * Collects the single-row inserts of the server's own code and runs them as multi-row inserts: ten million files would take hours
 * otherwise. Adds up the usage of each account first, because all its files are created here.
 */
class Batches {
  readonly #tx: Sql;
  readonly #rows = new Map<string, Value[][]>();
  readonly #sums = new Map<string, { text: string; params: Value[] }>();

  constructor(tx: Sql) {
    this.#tx = tx;
  }

  get sql(): Sql {
    const execute = async <Row>(text: string, ...params: Value[]): Promise<Row[]> => {
      if (text.startsWith('INSERT INTO usage ')) this.#add(text, params);
      else if (ONE_ROW.test(text)) await this.#insert(text, params);
      else throw new Error(`not an insert of one row: ${text}`);
      return [];
    };
    const { dialect } = this.#tx;
    return { dialect, execute, query: execute, transaction: (work) => work(this.sql) };
  }

  async end(): Promise<void> {
    for (const [text, rows] of this.#rows) await this.#flush(text, rows, 1);
    // Always in the same order, so that two writers cannot deadlock.
    for (const { text, params } of this.#sums.values()) await this.#tx.execute(text, ...params);
  }

  #add(text: string, params: Value[]): void {
    // Owner and directory come first in each row, then the sums.
    const isSum = (at: number) => at % USAGE_COLUMNS.length >= 2;
    const key = params.filter((_, at) => !isSum(at)).join(' ');
    const found = this.#sums.get(key);
    if (!found) this.#sums.set(key, { text, params });
    else found.params = found.params.map((sum, at) => (isSum(at) ? Number(sum) + Number(params[at]) : sum));
  }

  async #insert(text: string, params: Value[]): Promise<void> {
    const rows = this.#rows.get(text) ?? [];
    this.#rows.set(text, rows);
    if (rows.push(params) >= ROWS) await this.#flush(text, rows, ROWS);
  }

  async #flush(text: string, rows: Value[][], least: number): Promise<void> {
    for (let size = ROWS; size >= least; size /= 2) {
      while (rows.length >= size) {
        const many = text.replace(ONE_ROW, (_, row: string) => ` VALUES ${Array(size).fill(row).join(', ')}`);
        await this.#tx.execute(many, ...rows.splice(0, size).flat());
      }
    }
  }
}

export interface Filling {
  accounts: number;
  filesEach: number;
  passwordHash: string;
  log: (line: string) => void;
}

/**
 * Creates accounts with a session, a directory and files, as the server's own code writes them. Only the volumes are missing.
 */
export async function fillAccounts(
  url: string,
  { accounts, filesEach, passwordHash, log }: Filling,
): Promise<void> {
  const store = new PostgresStore(url, { unlimited: true });
  const atOnce = Math.max(1, Math.floor(FILES_AT_ONCE / filesEach));
  let next = 0;
  let files = 0;
  const begun = performance.now();
  const write = async () => {
    while (next < accounts) {
      const from = next;
      next = Math.min(accounts, from + atOnce);
      const until = next;
      await store.transaction(async (tx) => {
        const batches = new Batches(tx);
        for (let account = from; account < until; account++) {
          await fillAccount(batches.sql, account, filesEach, passwordHash);
        }
        await batches.end();
      });
      files += (until - from) * filesEach;
      const rate = files / ((performance.now() - begun) / 1000);
      if (Math.floor(files / 500_000) > Math.floor((files - (until - from) * filesEach) / 500_000)) {
        log(`accounts: ${files.toLocaleString('en')} files, ${rate.toFixed(0)} a second`);
      }
    }
  };
  try {
    await Promise.all(Array.from({ length: WRITERS }, write));
    await store.advanceSerials();
    await store.execute('VACUUM ANALYZE');
  } finally {
    await store.close();
  }
}

const HEADER = JSON.stringify({ v: 2, header: 'A'.repeat(200) });

async function fillAccount(tx: Sql, account: number, filesEach: number, passwordHash: string): Promise<void> {
  const now = Date.now();
  const username = nameOf(account);
  const accountId = randomBytes(16).toString('hex');
  const dirId = account + 1;
  await insertAccount(tx, { username, accountId, passwordHash, createdAt: now });
  await insertRow(tx, 'account_documents', { account_id: accountId, rev: 1, written_rev: 1 });
  const tokenHash = hashToken(newToken());
  await insertSession(tx, { tokenHash, username, accountId, device: '', now });
  await insertRow(tx, 'dirs', { dir_id: dirId, owner: username, name: 'papers', created_at: now });
  for (let at = 0; at < filesEach; at++) {
    const sha256 = randomBytes(32).toString('hex');
    const size = 1_000_000 + at;
    const volumes = [{ idx: 1, size, sha256 }];
    const init = {
      fileName: `file ${at}`,
      fileSize: size,
      storedSize: size,
      totalSha256: sha256,
      dirId: at % 3 === 0 ? dirId : 0,
      encParams: HEADER,
      streamed: 'no' as const,
      volumes,
    };
    const ids = { transferId: newTransferId(), fileId: newFileId(), creator: username, now };
    const transfer = toTransfer(init, ids, 'done');
    await insertTransfer(tx, transfer);
    await insertVolumes(tx, ids.fileId, volumes);
    await insertFile(tx, toFile(transfer, now));
  }
}
