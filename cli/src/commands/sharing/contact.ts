import type { Contact } from '@szafa/client/node';
import type { Invocation } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import { acceptHint } from '../../explain.ts';
import { withAccount } from '../../lib/account/connection.ts';
import { oneLine } from '../../lib/print/text.ts';
import { checkExclusive } from '../../options.ts';

const STATES: Record<Contact['state'], string> = {
  known: 'not verified',
  verified: 'verified',
  changed: 'NOT the same keys as before',
};

function check({ args, flags }: Invocation): void {
  if (args.length === 0 && (flags.verify || flags.accept !== undefined))
    throw new UsageError('no account given', 'give the name of the account');
  checkExclusive(flags, 'verify', 'accept');
}

export const contact = withAccount({ keys: 'needed', check }, async ({ args, flags, out, signal, szafa }) => {
  const fingerprint = await szafa.fingerprint({ signal });
  const { username } = szafa;
  const [name = username] = args;
  if (name !== username && (flags.verify || flags.accept !== undefined)) {
    const other =
      flags.accept === undefined
        ? await szafa.verifyContact(name, { signal })
        : await szafa.acceptContact(name, flags.accept, { signal });
    const text = `accepted the keys of ${oneLine(other.username)}: ${other.fingerprint}`;
    out.done('contact', { ...other }, text);
    return;
  }
  const other = name === username ? undefined : await szafa.contact(name, { signal });
  out.answer('contact', { username, fingerprint, state: 'own' }, `${username} (you)\n  ${fingerprint}`);
  if (!other) return;
  const shown = `${oneLine(other.username)} (${STATES[other.state]})\n  ${other.fingerprint}`;
  out.answer('contact', { ...other }, shown);
  const ask = `ask ${oneLine(name)} for both fingerprints, by another channel than this server`;
  if (other.state === 'known')
    out.note('compare', `${ask}; if they are the same: szafa contact ${oneLine(name)} --verify`);
  if (other.state === 'changed') out.note('compare', `${ask}; ${acceptHint(oneLine(name))}`);
});
