import { createHash, randomBytes } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Proof, readIfPresent, type Szafa } from '@szafa/client/node';
import type { Invocation } from '../../command.ts';
import { CliError, exits } from '../../errors.ts';
import { oneLine } from '../print/text.ts';
import { readSecret } from './questions.ts';

/** Whether a login sends a secret derived from the password, or the password itself. */
export type Mode = 'derived' | 'raw';

/**
 * Remembers how this machine has logged in to an account. A server that never saw the password could refuse the derived secret, hoping
 * to be sent the password next; so an account that was used with a derived secret stays so. Holds no secret; logout leaves it.
 */
export class PasswordMode {
  readonly path: string;
  readonly #folder: string;
  readonly #account: { server: string; username: string };

  constructor(folder: string, server: string, username: string) {
    this.#folder = folder;
    this.#account = { server, username };
    const id = createHash('sha256').update(JSON.stringify([server, username.toLowerCase()]));
    this.path = join(folder, `account-${id.digest('hex').slice(0, 32)}.json`);
  }

  async load(): Promise<Mode | undefined> {
    const text = (await readIfPresent(this.path))?.toString();
    if (text === undefined) return undefined;
    // A damaged file must not make anyone send a password.
    return /"password":"raw"/.test(text) ? 'raw' : 'derived';
  }

  async check(wanted: Mode): Promise<void> {
    if (wanted === 'derived' || (await this.load()) !== 'derived') return;
    const { server, username } = this.#account;
    throw new CliError(
      'raw-refused',
      `the password of ${username} at ${oneLine(server)} has never left this machine, and will not be sent now`,
      `omit --raw-password. If this is really a different account now, delete ${this.path}`,
      exits.usage,
    );
  }

  async save(mode: Mode): Promise<void> {
    const known = await this.load();
    if (known === mode || known === 'derived') return;
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const temporary = `${this.path}.${randomBytes(6).toString('hex')}`;
    const text = `${JSON.stringify({ ...this.#account, password: mode })}\n`;
    await writeFile(temporary, text, { mode: 0o600, flag: 'wx' });
    await rename(temporary, this.path);
  }
}

/** The proof that the server wants before it changes an account. Reads the password unless it is given. */
export async function proveAccount(
  { flags, settings, signal }: Pick<Invocation, 'flags' | 'settings' | 'signal'>,
  { api, username }: Szafa,
  given?: string,
): Promise<Proof> {
  const password = given ?? (await readSecret({ source: settings.password, what: 'password', signal }));
  const raw = flags['raw-password'] ?? false;
  // By the name that this machine knows: the server could give another one.
  await new PasswordMode(settings.config, api.server, username).check(raw ? 'raw' : 'derived');
  return { password, raw };
}
