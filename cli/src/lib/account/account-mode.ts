import { createHash, randomBytes } from 'node:crypto';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Proof, readIfPresent, type Szafa } from '@szafa/client/node';
import type { Invocation } from '../../command.ts';
import { CliError, exits } from '../../errors.ts';
import { oneLine } from '../print/text.ts';

/** What the service gets at a login: a secret derived from the password, or the password itself. */
export type Mode = 'derived' | 'raw';

/**
 * How this machine has logged in to an account. A server that never saw the password could refuse the derived secret, hoping
 * that the password itself is sent next; so what was derived once stays derived. It holds no secret, and logout leaves it.
 */
export class AccountMode {
  readonly path: string;
  readonly #folder: string;
  readonly #about: { server: string; username: string };

  constructor(folder: string, server: string, username: string) {
    this.#folder = folder;
    this.#about = { server, username };
    const id = createHash('sha256').update(JSON.stringify([server, username.toLowerCase()]));
    this.path = join(folder, `account-${id.digest('hex').slice(0, 32)}.json`);
  }

  async known(): Promise<Mode | undefined> {
    const text = (await readIfPresent(this.path))?.toString();
    if (text === undefined) return undefined;
    // A damaged file does not make anybody send a password either.
    return /"password":"raw"/.test(text) ? 'raw' : 'derived';
  }

  async check(wanted: Mode): Promise<void> {
    if (wanted === 'derived' || (await this.known()) !== 'derived') return;
    const { server, username } = this.#about;
    throw new CliError(
      'raw-refused',
      `the password of ${username} at ${oneLine(server)} has never left this machine, and will not be sent now`,
      `omit --raw-password. If this is really a different account now, delete ${this.path}`,
      exits.usage,
    );
  }

  async remember(mode: Mode): Promise<void> {
    const known = await this.known();
    if (known === mode || known === 'derived') return;
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const temporary = `${this.path}.${randomBytes(6).toString('hex')}`;
    await writeFile(temporary, `${JSON.stringify({ ...this.#about, password: mode })}\n`, {
      mode: 0o600,
      flag: 'wx',
    });
    await rename(temporary, this.path);
  }
}

/** What the service asks for before it changes an account; the password itself only where that is how it was used. */
export async function proofOf(
  { flags, settings }: Pick<Invocation, 'flags' | 'settings'>,
  { api, username }: Szafa,
  password: string,
): Promise<Proof> {
  const raw = flags['raw-password'] ?? false;
  // By the name that this machine knows: the service could say another one.
  await new AccountMode(settings.config, api.server, username).check(raw ? 'raw' : 'derived');
  return { password, raw };
}
