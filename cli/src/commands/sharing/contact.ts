import type { Contact } from '@szafa/client/node';
import type { Command } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import { acceptHint } from '../../explain.ts';
import { connect } from '../../lib/account/connection.ts';
import { oneLine } from '../../lib/print/text.ts';

const STATES: Record<Contact['state'], string> = {
  known: 'not compared yet',
  verified: 'compared',
  changed: 'NOT the keys of before',
};

export const command: Command = async (invocation) => {
  const { args, flags, out, signal } = invocation;
  const [name] = args;
  if (name === undefined && (flags.verify || flags.accept !== undefined))
    throw new UsageError('whose keys?', 'give the name of the account');
  if (flags.verify && flags.accept !== undefined)
    throw new UsageError('--verify and --accept do not go together', 'give one of them');
  await using connection = await connect(invocation, { keys: 'needed' });
  const { szafa } = connection;
  const own = await szafa.fingerprint({ signal });
  const { username } = szafa;
  if (name === undefined || name === username) {
    out.answer('contact', { username, fingerprint: own, state: 'own' }, `${username} (you)\n  ${own}`);
    return;
  }
  if (flags.accept !== undefined || flags.verify) {
    const contact =
      flags.accept === undefined
        ? await szafa.verifyContact(name, { signal })
        : await szafa.acceptContact(name, flags.accept, { signal });
    const text = `these are the keys of ${oneLine(contact.username)} from now on: ${contact.fingerprint}`;
    out.done('contact', { ...contact }, text);
    return;
  }
  const contact = await szafa.contact(name, { signal });
  out.answer('contact', { username, fingerprint: own, state: 'own' }, `${username} (you)\n  ${own}`);
  const shown = `${oneLine(contact.username)} (${STATES[contact.state]})\n  ${contact.fingerprint}`;
  out.answer('contact', { ...contact }, shown);
  const ask = `ask ${oneLine(name)} for both fingerprints, in another way than by this server`;
  if (contact.state === 'known')
    out.note('compare', `${ask}; if they are the same: szafa contact ${oneLine(name)} --verify`);
  if (contact.state === 'changed') out.note('compare', `${ask}; ${acceptHint(oneLine(name))}`);
};
