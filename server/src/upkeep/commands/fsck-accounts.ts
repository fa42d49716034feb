import { isDeepStrictEqual } from 'node:util';
import type { Report } from '../../operator/commands/report.ts';
import { BrokenDocument } from '../../platform/volumes/documents.ts';
import { accountDocument, writeAccount } from '../documents.ts';
import { serviceOf } from '../store-identity.ts';
import type { Pair } from './pair.ts';
import { rowsOf } from './rows.ts';

/** What a rescue needs beside the files: which service this is, and the document of every account, its key bag included. */
export async function checkAccounts(pair: Pair, repair: boolean, report: Report): Promise<void> {
  const { metadata, sql, volumes } = pair;
  const { serviceId } = await metadata.store.get();
  if ((await serviceOf(volumes)) !== serviceId) {
    if (repair) await volumes.writeNote('service-id', serviceId);
    report.problem('stores with a wrong service id', { 'service id': serviceId }, repair);
  }
  for await (const { account_id } of rowsOf(sql, 'account_documents')) {
    const id = String(account_id);
    // Twice: it may have changed, and been written, while we looked.
    if ((await isRight(pair, id)) || (await isRight(pair, id))) report.count('accounts');
    else {
      if (repair) await writeAccount(pair, id);
      report.problem('accounts without their documents', { account: id }, repair);
    }
  }
}

/** The sweeper has yet to write what is out of date; there is nothing to be said about it. */
async function isRight({ metadata, volumes }: Pair, id: string): Promise<boolean> {
  const stored = await volumes.account(id).catch((error: unknown) => {
    if (error instanceof BrokenDocument) return undefined;
    throw error;
  });
  const state = await metadata.documents.account(id);
  if (!state || (await metadata.documents.isStaleAccount(id))) return true;
  return isDeepStrictEqual(stored, JSON.parse(JSON.stringify(accountDocument(id, state))));
}
