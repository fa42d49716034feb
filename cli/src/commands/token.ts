import type { Command } from '../command.ts';
import { CliError } from '../errors.ts';
import { SessionStore } from '../session-store.ts';

export const command: Command = async ({ settings, out }) => {
  const token = settings.token ?? (await new SessionStore(settings.config, out).load())?.token;
  if (token === undefined) throw new CliError('not-logged-in', 'not logged in', 'log in first: szafa login');
  out.answer('token', { token }, token);
};
