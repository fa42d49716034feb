import { newTotpSecret, type Proof, type Szafa, totpUri } from '@szafa/client/node';
import type { Passkey } from '@szafa/protocol';
import type { Command, Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { explain } from '../../explain.ts';
import { proofOf } from '../../lib/account/account-mode.ts';
import { connect } from '../../lib/account/connection.ts';
import { ask, canAsk, codeAsker, readSecret } from '../../lib/account/questions.ts';
import { drawn } from '../../lib/print/qr.ts';
import { oneLine } from '../../lib/print/text.ts';

const HELP = 'see szafa factor --help';
const TRIES = 3;
const WITH_KEY = 'If you lose it, only your recovery key brings you back.';
const WITHOUT_KEY =
  'If you lose it, you are locked out: this account has no recovery key. Make one with szafa recovery.';

async function proof(invocation: Invocation, szafa: Szafa): Promise<Proof> {
  const { settings, signal } = invocation;
  const password = await readSecret({ source: settings.password, what: 'password', signal });
  return proofOf(invocation, szafa, password);
}

async function status(invocation: Invocation): Promise<void> {
  const { out, signal } = invocation;
  await using connection = await connect(invocation, { keys: 'none' });
  const { totp, passkeys } = await connection.szafa.factors({ signal });
  out.answer('factors', { totp, passkeys }, said(totp, passkeys));
}

function said(totp: boolean, passkeys: Passkey[]): string {
  const names = passkeys.map(({ name, alone }) => `${oneLine(name)}${alone ? ' (logs in by itself)' : ''}`);
  const listed = `a passkey, in the page only: ${names.join(', ')}`;
  if (totp) return `a login asks for a code (totp is on)${names.length > 0 ? `, or for ${listed}` : ''}`;
  if (names.length === 0) return 'there is no second factor';
  return `a login asks for ${listed}; this command can log in again once codes are on: szafa factor totp on`;
}

async function on(invocation: Invocation): Promise<void> {
  const { out, signal } = invocation;
  if (!canAsk()) {
    throw new UsageError('a second factor is set up on a terminal, where its secret can be shown', HELP);
  }
  await using connection = await connect(invocation, { keys: 'useful' });
  const { szafa } = connection;
  const { server } = szafa.api;
  const { username } = szafa;
  if ((await szafa.factors({ signal })).totp) {
    throw new CliError('factor-on', 'codes are on already', 'turn them off first: szafa factor totp off');
  }
  const proven = await proof(invocation, szafa);
  const recoverable = (await szafa.keys.found(signal))?.bag.recovery !== undefined;
  const secret = newTotpSecret(szafa.engine);
  const uri = totpUri(secret, { server, username });
  const lines = [
    '',
    'add this account to an authenticator app:',
    '',
    ...drawn(uri, process.stderr.columns ?? 80),
    '',
    `    ${secret.match(/.{4}/g)!.join(' ')}`,
    `    ${oneLine(uri)}`,
    '',
    `The app is needed for every login from now on. ${recoverable ? WITH_KEY : WITHOUT_KEY}`,
    '',
  ];
  process.stderr.write(lines.join('\n'));
  for (let left = TRIES; ; ) {
    const code = await ask('code that the app shows: ', signal);
    try {
      await szafa.setTotp(proven, secret, code, { signal });
      break;
    } catch (error) {
      left--;
      if (left === 0 || !CODE_ERRORS.has(explain(error).code)) throw error;
      process.stderr.write('that is not the code of this secret now\n');
    }
  }
  out.done('factor', { server, username, totp: true }, 'the second factor is on: a login asks for a code');
}

/** A wrong one, and one that is no code at all. */
const CODE_ERRORS = new Set(['wrong-code', 'bad-request']);

async function off(invocation: Invocation): Promise<void> {
  const { out, signal } = invocation;
  await using connection = await connect(invocation, { keys: 'useful' });
  const { szafa } = connection;
  const { server } = szafa.api;
  const { totp, passkeys } = await szafa.factors({ signal });
  if (!totp) throw new CliError('factor-off', 'codes are not on', 'turn them on with szafa factor totp on');
  const proven = await proof(invocation, szafa);
  await szafa.removeTotp(proven, { code: await codeAsker(invocation)() }, { signal });
  const left =
    passkeys.length > 0
      ? 'codes are off: a login asks for a passkey, in the page only'
      : 'the second factor is off: a login needs the password only';
  out.done('factor', { server, totp: false }, left);
}

export const command: Command = (invocation) => {
  const [kind, what = 'status'] = invocation.args;
  if (kind === 'status' && invocation.args.length === 1) return status(invocation);
  if (kind !== 'totp') throw new UsageError(`there is no factor "${oneLine(kind ?? '')}"`, HELP);
  if (what === 'status') return status(invocation);
  if (what === 'on') return on(invocation);
  if (what === 'off') return off(invocation);
  throw new UsageError(`there is no "factor totp ${oneLine(what)}"`, HELP);
};
