import { countResealed, type FinishedRekey } from '@szafa/client/node';
import type { Invocation } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import { withAccount } from '../../lib/account/connection.ts';
import { prepareKey, withKey } from '../../lib/account/recovery.ts';
import { proveAccount } from '../../lib/account/secrets.ts';
import { oneLine, plural } from '../../lib/print/text.ts';
import { countFiles } from '../../lib/transfer/progress.ts';

function report({ out, batch }: Invocation, resealed: FinishedRekey, what: string, fields: object): void {
  const { epoch, files, dirs, shares, requests, failed, retired } = resealed;
  const counts = `${plural(files, 'file')}, ${plural(dirs, 'folder name')} and ${plural(shares, 'share')}`;
  const counted = { epoch, files, folders: dirs, shares, requests, failed: failed.length, retired };
  out.done('rekeyed', { ...counted, ...fields }, `${what}: ${counts} are under master key ${epoch} now`);
  if (requests > 0) {
    const ended = requests === 1 ? 'a request has ended' : `${requests} requests have ended`;
    const message = `${ended}: their links used the earlier key. Create new ones with: szafa request`;
    out.note('requests-ended', message, { requests });
  }
  if (!retired) {
    const message =
      'the earlier master keys stay valid, since not everything is under the new one; run it again, or add --leave-rest';
    out.note('keys-not-retired', message);
  }
  batch.done = files + dirs + shares + requests + 1;
  for (const { about, error } of failed) batch.fail(error, about);
}

export const rekey = withAccount('needed', async (invocation) => {
  const { flags, out, batch, signal, szafa } = invocation;
  const account = { server: szafa.api.server, username: szafa.username };
  const onProgress = countFiles(out, 'sealing');
  const accept = new Set(flags['accept-retired']);
  const leaveRest = flags['leave-rest'] === true;
  const { epoch } = await szafa.keys.current(signal);
  if (epoch > 1) {
    const left = await szafa.reseal({ onProgress, accept, signal });
    const canRetire = (await szafa.keys.floor(signal)) < epoch && (left.failed.length === 0 || leaveRest);
    if (countResealed(left) > 0 || canRetire || accept.size > 0) {
      const proof = await proveAccount(invocation);
      const rest = await szafa.finishRekey(proof, { accept, leaveRest, signal });
      for (const what of ['files', 'dirs', 'shares', 'requests'] as const) rest[what] += left[what];
      report(invocation, rest, 'finished a rekey that had been cut off', { finished: true });
      const again = 'this finished the earlier rekey; run it again for another new key';
      if (batch.failed === 0) out.note('rekey-again', again);
      return;
    }
  }
  if (accept.size > 0) throw new UsageError('nothing is under a retired master key', 'omit --accept-retired');
  const proof = await proveAccount(invocation);
  const hadRecovery = (await szafa.keys.fetchBag(signal))?.bag.recovery !== undefined;
  if (hadRecovery && flags['no-recovery']) {
    const message = 'this account has a recovery key, and a rekey creates a new one';
    throw new UsageError(message, 'omit --no-recovery');
  }
  const prepared = await prepareKey(invocation, szafa.engine, account, !hadRecovery);
  await withKey(prepared, () => szafa.replaceMaster(proof, prepared?.key, { signal }));
  const message =
    'there is a new master key. All other sessions have ended; earlier passkeys and recovery keys open nothing any more';
  out.note('rekey-begun', message);
  const resealed = await szafa.finishRekey(proof, { onProgress, leaveRest, signal });
  const where = prepared?.path === undefined ? '' : `; the new recovery key is in ${oneLine(prepared.path)}`;
  report(invocation, resealed, `rekeyed${where}`, { finished: false, file: prepared?.path });
});
