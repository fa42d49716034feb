import { countResealed, type FinishedRekey } from '@szafa/client/node';
import type { Command, Invocation } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import { proofOf } from '../../lib/account/account-mode.ts';
import { connect } from '../../lib/account/connection.ts';
import { readSecret } from '../../lib/account/questions.ts';
import { prepareKey, withKey } from '../../lib/account/recovery.ts';
import { oneLine, plural } from '../../lib/print/text.ts';
import { Batch } from '../../lib/transfer/batch.ts';

const TOLD_MS = 5000;

function tell({ out }: Invocation): (done: number, total: number) => void {
  let last = Date.now();
  return (done, total) => {
    if (Date.now() - last < TOLD_MS) return;
    last = Date.now();
    out.progress({ files_done: done, files_total: total }, `${done} of ${plural(total, 'file')}`);
  };
}

function report({ out }: Invocation, resealed: FinishedRekey, what: string, fields: object): void {
  const { epoch, files, dirs, shares, requests, failed, retired } = resealed;
  const counts = `${plural(files, 'file')}, ${plural(dirs, 'folder name')} and ${plural(shares, 'share')}`;
  const text = `${what}: ${counts} are under master key ${epoch} now`;
  const done = { epoch, files, folders: dirs, shares, requests, failed: failed.length, retired };
  out.done('rekeyed', { ...done, ...fields }, text);
  if (requests > 0) {
    const those =
      requests === 1
        ? 'a request has ended, since its link is'
        : `${requests} requests have ended, since their links are`;
    const message = `${those} of the key before; make new ones with: szafa request`;
    out.note('requests-ended', message, { requests });
  }
  if (!retired) {
    const message =
      'the earlier master keys stay in force, since not everything is under the new one; run it again, or add --leave-rest';
    out.note('keys-not-retired', message);
  }
  const batch = new Batch(out);
  batch.done = files + dirs + shares + requests + 1;
  for (const { about, error } of failed) batch.fail(error, about);
  batch.finish();
}

export const command: Command = async (invocation) => {
  const { flags, settings, out, signal } = invocation;
  await using connection = await connect(invocation, { keys: 'needed' });
  const { szafa } = connection;
  const { username } = szafa;
  const { server } = szafa.api;
  const onProgress = tell(invocation);
  const accept = new Set(flags['accept-retired']);
  const leaveRest = flags['leave-rest'] === true;
  const prove = async () =>
    proofOf(invocation, szafa, await readSecret({ source: settings.password, what: 'password', signal }));
  const { epoch } = await szafa.keys.current(signal);
  if (epoch > 1) {
    const left = await szafa.reseal({ onProgress, accept, signal });
    const canRetire = (await szafa.keys.floor(signal)) < epoch && (left.failed.length === 0 || leaveRest);
    if (countResealed(left) > 0 || canRetire || accept.size > 0) {
      const rest = await szafa.finishRekey(await prove(), { accept, leaveRest, signal });
      for (const what of ['files', 'dirs', 'shares', 'requests'] as const) rest[what] += left[what];
      report(invocation, rest, 'finished a rekey that had been cut off', { finished: true });
      out.note('rekey-again', 'that was the rest of the rekey before; run it again for another new key');
      return;
    }
  }
  if (accept.size > 0) throw new UsageError('nothing is under a retired master key', 'omit --accept-retired');
  const proof = await prove();
  const hadRecovery = (await szafa.keys.found(signal))?.bag.recovery !== undefined;
  if (hadRecovery && flags['no-recovery']) {
    throw new UsageError(
      'this account has a recovery key, and a rekey makes a new one',
      'omit --no-recovery',
    );
  }
  const prepared = await prepareKey(invocation, szafa.engine, { server, username }, !hadRecovery);
  await withKey(prepared, () => szafa.replaceMaster(proof, prepared?.key, { signal }));
  out.note(
    'rekey-begun',
    'there is a new master key. All other sessions have ended; passkeys and a recovery key from before open nothing any more',
  );
  const resealed = await szafa.finishRekey(proof, { onProgress, leaveRest, signal });
  const where = prepared?.path === undefined ? '' : `; the new recovery key is in ${oneLine(prepared.path)}`;
  report(invocation, resealed, `rekeyed${where}`, { finished: false, file: prepared?.path });
};
