import type { Contact } from '@szafa/client/node';
import type { Command } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import { acceptHint } from '../../explain.ts';
import { connect } from '../../lib/account/connection.ts';
import { oneLine } from '../../lib/print/text.ts';
import { checkExclusive } from '../../options.ts';

const STATES: Record<Contact['state'], string> = {
  known: 'not verified',
  verified: 'verified',
  changed: 'NOT the same keys as before',
};

export const contact: Command = async (invocation) => {
  const { args, flags, out, signal } = invocation;
  const [name] = args;
  const { verify, accept } = flags;
  if (name === undefined && (verify || accept !== undefined))
    throw new UsageError('no account given', 'give the name of the account');
  checkExclusive(flags, 'verify', 'accept');
  await using szafa = await connect(invocation, { keys: 'needed' });
  const fingerprint = await szafa.fingerprint({ signal });
  const { username } = szafa;
  const showOwn = () =>
    out.answer('contact', { username, fingerprint, state: 'own' }, `${username} (you)\n  ${fingerprint}`);
  if (name === undefined || name === username) return showOwn();
  if (accept !== undefined || verify) {
    const other =
      accept === undefined
        ? await szafa.verifyContact(name, { signal })
        : await szafa.acceptContact(name, accept, { signal });
    const text = `accepted the keys of ${oneLine(other.username)}: ${other.fingerprint}`;
    out.done('contact', { ...other }, text);
    return;
  }
  const other = await szafa.contact(name, { signal });
  showOwn();
  const shown = `${oneLine(other.username)} (${STATES[other.state]})\n  ${other.fingerprint}`;
  out.answer('contact', { ...other }, shown);
  const ask = `ask ${oneLine(name)} for both fingerprints, by another channel than this server`;
  if (other.state === 'known')
    out.note('compare', `${ask}; if they are the same: szafa contact ${oneLine(name)} --verify`);
  if (other.state === 'changed') out.note('compare', `${ask}; ${acceptHint(oneLine(name))}`);
};
