import { newTotpSecret, totpUri } from '@szafa/client/node';
import type { Passkey } from '@szafa/protocol';
import type { Command } from '../../command.ts';
import { CliError, UsageError, unknownSubcommand } from '../../errors.ts';
import { explain } from '../../explain.ts';
import { withAccount } from '../../lib/account/connection.ts';
import { ask, canAsk, codeAsker, proveAccount } from '../../lib/account/secrets.ts';
import { drawQr } from '../../lib/print/qr.ts';
import { oneLine } from '../../lib/print/text.ts';

const TRIES = 3;
const WITH_KEY = 'If you lose it, only your recovery key brings you back.';
const WITHOUT_KEY =
  'If you lose it, you are locked out: this account has no recovery key. Create one with szafa recovery.';
/** Errors to ask again after: a wrong code, or text that is not a code. */
const CODE_ERRORS = new Set(['wrong-code', 'bad-request']);

const showStatus = withAccount('none', async ({ out, signal, szafa }) => {
  const { totp, passkeys } = await szafa.factors({ signal });
  out.answer('factors', { totp, passkeys }, describeFactors(totp, passkeys));
});

function describeFactors(totp: boolean, passkeys: Passkey[]): string {
  const names = passkeys.map(({ name, alone }) => `${oneLine(name)}${alone ? ' (logs in by itself)' : ''}`);
  const listed = `a passkey, in the web app only: ${names.join(', ')}`;
  if (totp) return `a login asks for a code (totp is on)${names.length > 0 ? `, or for ${listed}` : ''}`;
  if (names.length === 0) return 'two-factor authentication is off';
  return `a login asks for ${listed}; this command can log in again once codes are on: szafa factor totp on`;
}

function checkTerminal(): void {
  if (canAsk()) return;
  const message = 'two-factor authentication is set up on a terminal, where its secret can be shown';
  throw new UsageError(message, 'see szafa factor --help');
}

const turnOn = withAccount({ keys: 'useful', check: checkTerminal }, async (invocation) => {
  const { out, signal, szafa } = invocation;
  const account = { server: szafa.api.server, username: szafa.username };
  if ((await szafa.factors({ signal })).totp) {
    throw new CliError('factor-on', 'codes are on already', 'turn them off first: szafa factor totp off');
  }
  const proof = await proveAccount(invocation);
  const hasRecovery = (await szafa.keys.fetchBag(signal))?.bag.recovery !== undefined;
  const secret = newTotpSecret(szafa.engine);
  const uri = totpUri(secret, account);
  const lines = [
    '',
    'add this account to an authenticator app:',
    '',
    ...drawQr(uri, process.stderr.columns ?? 80),
    '',
    `    ${secret.match(/.{4}/g)!.join(' ')}`,
    `    ${oneLine(uri)}`,
    '',
    `The app is needed for every login from now on. ${hasRecovery ? WITH_KEY : WITHOUT_KEY}`,
    '',
  ];
  process.stderr.write(lines.join('\n'));
  for (let tried = 1; ; tried++) {
    const code = await ask('code that the app shows: ', signal);
    try {
      await szafa.setTotp(proof, secret, code, { signal });
      break;
    } catch (error) {
      if (tried === TRIES || !CODE_ERRORS.has(explain(error).code)) throw error;
      process.stderr.write('that is not the current code of this secret\n');
    }
  }
  const text = 'two-factor authentication is on: a login asks for a code';
  out.done('factor', { ...account, totp: true }, text);
});

const turnOff = withAccount('useful', async (invocation) => {
  const { out, signal, szafa } = invocation;
  const { totp, passkeys } = await szafa.factors({ signal });
  if (!totp) throw new CliError('factor-off', 'codes are not on', 'turn them on with szafa factor totp on');
  const proof = await proveAccount(invocation);
  await szafa.removeTotp(proof, { code: await codeAsker(invocation)() }, { signal });
  const text =
    passkeys.length > 0
      ? 'codes are off: a login asks for a passkey, in the web app only'
      : 'two-factor authentication is off: a login needs the password only';
  out.done('factor', { server: szafa.api.server, totp: false }, text);
});

export const factor: Command = (invocation) => {
  const words = invocation.args.join(' ');
  if (words === 'status' || words === 'totp' || words === 'totp status') return showStatus(invocation);
  if (words === 'totp on') return turnOn(invocation);
  if (words === 'totp off') return turnOff(invocation);
  throw unknownSubcommand('factor', words);
};
