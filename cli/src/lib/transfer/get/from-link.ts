/** get LINK. Needs no account. */
import { LinkVisit, parseLink } from '@szafa/client/node';
import type { Invocation } from '../../../command.ts';
import { UsageError } from '../../../errors.ts';
import { clientOptions, normalizeServer } from '../../account/connection.ts';
import { readSecret } from '../../account/secrets.ts';
import { oneLine } from '../../print/text.ts';
import { maxTransfers } from '../run.ts';
import { fetchParts, loadTicket } from './shared.ts';
import { STDOUT } from './stdout.ts';

export async function getLink(invocation: Invocation, link: string): Promise<void> {
  const { flags, settings, out, signal } = invocation;
  if (flags.checksum) throw new UsageError('--checksum cannot be combined with a link', 'omit --checksum');
  const address = parseLink(link);
  const server = normalizeServer(address.server);
  out.dataOnStdout = flags.output === STDOUT;
  await using client = clientOptions(invocation, server, maxTransfers(invocation));
  const ticket = await loadTicket(invocation, server, address.id);
  const { engine, transport, retry, onRetry } = client.options;
  const connection = { engine, transport, retry, onRetry, ticket: ticket.text, signal };
  const visit = await LinkVisit.begin({ ...address, server }, connection);
  const source = settings.linkPassphrase;
  const passphrase = visit.needsPassphrase
    ? await readSecret({ source, what: 'passphrase of the link', signal })
    : undefined;
  const opened = await visit.open(passphrase);
  if (opened.note !== undefined) out.note('says', oneLine(opened.note), { note: opened.note });
  const files = opened.files.map((file) => ({ ...file, below: file.name }));
  // A single folder still goes below --output.
  const single = files.length === 1 && !files[0]!.below.endsWith('/');
  await fetchParts(invocation, [{ opened, ticket, files }], single);
}
