import { accessSync, constants } from 'node:fs';
import { chmod, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeLocalFolder, readIfPresent, writeAtomic } from '@szafa/client/node';
import { CliError } from '../../errors.ts';
import type { Output } from '../print/output.ts';

/** Stored by `login`, so that later commands need no password. */
export interface StoredSession {
  server: string;
  username: string;
  token: string;
  /** The key that opens the account's key bag; absent if the account cannot open files. */
  kek?: string;
}

/** The temporary file of a session that was not written completely. */
const UNFINISHED = /^session\.json\.[0-9a-f]{12}$/;

/** One session in one file that only its owner can read. */
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

  async load(): Promise<StoredSession | undefined> {
    let text: Buffer | undefined;
    try {
      text = await readIfPresent(this.path);
      if (text && ((await stat(this.path)).mode & 0o077) !== 0) await this.#makePrivate();
    } catch (error) {
      throw (error as { code?: string }).code === 'in-the-way' ? error : this.#unusable(error as Error);
    }
    const session = text && parseSession(text.toString());
    if (session || !text) return session;
    throw new CliError('session', `${this.path} is damaged`, 'delete it and log in again: szafa login');
  }

  async #makePrivate(): Promise<void> {
    await chmod(this.path, 0o600);
    const message = `others could read ${this.path}, which opens your files; now only you can. szafa logout ends its token`;
    this.#out.note('session-open', message, { path: this.path });
  }

  /** Runs before anything else: a login that cannot be stored is of no use, nor a transfer that cannot be resumed. */
  prepare(): void {
    try {
      makeLocalFolder(this.folder, 0o700);
      accessSync(this.folder, constants.R_OK | constants.W_OK | constants.X_OK);
    } catch (error) {
      throw this.#unusable(error as NodeJS.ErrnoException);
    }
  }

  async save(session: StoredSession): Promise<void> {
    try {
      await writeAtomic(this.path, `${JSON.stringify(session)}\n`);
    } catch (error) {
      throw this.#unusable(error as NodeJS.ErrnoException);
    }
  }

  /** Also removes the temporary files of commands that were killed: they hold the same secrets. */
  async remove(): Promise<void> {
    await rm(this.path, { force: true });
    const names = await readdir(this.folder).catch(() => []);
    for (const name of names.filter((one) => UNFINISHED.test(one))) {
      await rm(join(this.folder, name), { force: true });
    }
  }

  #unusable(cause: NodeJS.ErrnoException): CliError {
    const message = `the configuration folder ${this.folder} cannot be used (${cause.code ?? cause.message})`;
    const hint = 'choose another one with --config or SZ_CONFIG';
    return new CliError('config', message, hint, { cause });
  }
}

function parseSession(text: string): StoredSession | undefined {
  try {
    const { server, username, token, kek } = JSON.parse(text) as Record<string, unknown>;
    const isSound = [server, username, token].every((field) => typeof field === 'string' && field !== '');
    if (!isSound || (kek !== undefined && typeof kek !== 'string')) return undefined;
    return { server, username, token, ...(kek !== undefined && { kek }) } as StoredSession;
  } catch {
    return undefined; // the caller reports that it is damaged
  }
}
