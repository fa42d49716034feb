import type { Delivery } from '@szafa/client/node';
import { Batch } from '../batch.ts';
import type { Command } from '../command.ts';
import { connect } from '../connection.ts';
import { CliError, UsageError } from '../errors.ts';
import { typedPath } from '../paths.ts';
import { formatBytes, formatTime, oneLine } from '../text.ts';

const about = ({ name }: Delivery) => name;

export const command: Command = async (invocation) => {
  const { flags, out, signal } = invocation;
  if (flags.dir !== undefined && !flags.take)
    throw new UsageError('--dir says where files go that are taken over', 'add --take');
  await using connection = await connect(invocation, { keys: 'needed' });
  const { szafa } = connection;
  const deliveries = await szafa.deliveries({ signal });
  const folder = flags.dir === undefined ? undefined : typedPath(flags.dir);
  const batch = new Batch(out);
  // One after the other: two of one name get two numbers.
  await batch.run(deliveries, { out, signal, parallel: 1, about }, async (delivery) => {
    const { fileId, requestId, name, size, createdAt, problem } = delivery;
    const fields = { file_id: fileId, request: requestId, name, size, created_at: createdAt };
    if (!flags.take) {
      const to = oneLine(delivery.folder ?? '?') || '/';
      const told = problem ? `cannot be read: ${oneLine(problem.message)}` : `for ${to}`;
      const row = [formatTime(createdAt), formatBytes(size), oneLine(name), told].join('  ');
      out.answer(
        'delivery',
        { ...fields, folder: delivery.folder ?? null, problem: problem?.code ?? null },
        row,
      );
      return;
    }
    if (problem) throw problem;
    if (folder === undefined && delivery.folder === undefined)
      throw new CliError('no-folder', 'its request is gone', 'say where it goes: --take --dir FOLDER');
    const path = await szafa.takeOver(delivery, { folder, signal });
    out.done('taken', { ...fields, path }, `took ${oneLine(path)}  ${formatBytes(size)}`);
  });
  if (deliveries.length === 0) out.note('empty', 'nothing has been delivered that you have not taken over');
  batch.finish();
};
