import { randomBytes } from 'node:crypto';
import { accessSync, constants } from 'node:fs';
import { chmod, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeLocalFolder, readIfPresent } from '@szafa/client/node';
import { CliError } from '../../errors.ts';
import type { Output } from '../print/output.ts';

/** What `login` keeps, so that no later command asks for the password. */
export interface KeptSession {
  server: string;
  username: string;
  token: string;
  /** The key that opens the account's key bag; absent where no file can be opened. */
  kek?: string;
}

/** A session that was not written to its end. */
const UNFINISHED = /^session\.json\.[0-9a-f]{12}$/;

/** One session in one file, readable by its owner alone. */
export class SessionStore {
  readonly folder: string;
  readonly #out: Output;

  constructor(folder: string, out: Output) {
    this.folder = folder;
    this.#out = out;
  }

  get path(): string {
    return join(this.folder, 'session.json');
  }

  async load(): Promise<KeptSession | undefined> {
    let text: Buffer | undefined;
    try {
      text = await readIfPresent(this.path);
      if (text && ((await stat(this.path)).mode & 0o077) !== 0) await this.#close();
    } catch (error) {
      throw (error as { code?: string }).code === 'in-the-way' ? error : this.#unusable(error as Error);
    }
    const session = text && parseSession(text.toString());
    if (session || !text) return session;
    throw new CliError('session', `${this.path} is damaged`, 'delete it and log in again: szafa login');
  }

  async #close(): Promise<void> {
    await chmod(this.path, 0o600);
    const message = `others could read ${this.path}, which opens your files; now only you can. szafa logout ends its token`;
    this.#out.note('session-open', message, { path: this.path });
  }

  /** Before anything else is done: a login that cannot be kept is of no use, nor a transfer that cannot be resumed. */
  prepare(): void {
    try {
      makeLocalFolder(this.folder, 0o700);
      accessSync(this.folder, constants.R_OK | constants.W_OK | constants.X_OK);
    } catch (error) {
      throw this.#unusable(error as NodeJS.ErrnoException);
    }
  }

  async save(session: KeptSession): Promise<void> {
    try {
      const temporary = `${this.path}.${randomBytes(6).toString('hex')}`;
      const handle = await open(temporary, 'wx', 0o600);
      try {
        await handle.writeFile(`${JSON.stringify(session)}\n`);
        await handle.datasync();
      } finally {
        await handle.close();
      }
      await rename(temporary, this.path);
    } catch (error) {
      throw this.#unusable(error as NodeJS.ErrnoException);
    }
  }

  /** With what a command that was killed while it wrote has left: the same secrets are in it. */
  async remove(): Promise<void> {
    await rm(this.path, { force: true });
    const names = await readdir(this.folder).catch(() => []);
    for (const name of names.filter((one) => UNFINISHED.test(one))) {
      await rm(join(this.folder, name), { force: true });
    }
  }

  #unusable(cause: NodeJS.ErrnoException): CliError {
    const message = `the configuration folder ${this.folder} cannot be used (${cause.code ?? cause.message})`;
    return new CliError('config', message, 'choose another one with --config or SZ_CONFIG', 1, { cause });
  }
}

function parseSession(text: string): KeptSession | undefined {
  try {
    const { server, username, token, kek } = JSON.parse(text) as Record<string, unknown>;
    const sound = [server, username, token].every((field) => typeof field === 'string' && field !== '');
    if (!sound || (kek !== undefined && typeof kek !== 'string')) return undefined;
    return { server, username, token, ...(kek !== undefined && { kek }) } as KeptSession;
  } catch {
    return undefined; // the caller says that it is damaged
  }
}
