/** get of a link: needs no account. */
import { join } from 'node:path';
import { fileJournal, LinkVisit, parseLink } from '@szafa/client/node';
import type { Invocation } from '../../../command.ts';
import { UsageError } from '../../../errors.ts';
import { clientOptions, sameServer } from '../../account/connection.ts';
import { readSecret } from '../../account/questions.ts';
import { oneLine } from '../../print/text.ts';
import { transfersOf } from '../concurrency.ts';
import { fetchParts, STDOUT, Ticket } from './opened.ts';

export async function getLink(invocation: Invocation, link: string): Promise<void> {
  const { flags, settings, out, signal } = invocation;
  const began = performance.now();
  if (flags.checksum) {
    throw new UsageError(
      '--checksum does not go with a link',
      'omit it: what is there with the same size and time is skipped',
    );
  }
  const address = parseLink(link);
  const server = sameServer(address.server);
  const toStdout = flags.output === STDOUT;
  out.dataOnStdout = toStdout;
  const { options, close } = clientOptions(invocation, server, transfersOf(invocation));
  try {
    const journal = fileJournal(join(settings.config, 'journal'));
    const ticket = await Ticket.kept(journal, server, address.id);
    const { engine, transport, retry, onRetry } = options;
    const found = await LinkVisit.begin(
      { ...address, server },
      { engine, transport, retry, onRetry, ticket: ticket.text, signal },
    );
    const source = settings.linkPassphrase;
    const passphrase = found.needsPassphrase
      ? await readSecret({ source, what: 'passphrase of the link', signal })
      : undefined;
    const opened = await found.open(passphrase);
    if (opened.note !== undefined) out.note('says', oneLine(opened.note), { note: opened.note });
    const files = opened.files.map((file) => ({ file, below: file.name }));
    // A folder goes below what --output names, whatever else there is.
    const single = files.length === 1 && !files[0]!.below.endsWith('/');
    await fetchParts(invocation, [{ opened, ticket, files }], { journal, began, single, toStdout });
  } finally {
    await close();
  }
}
