import { accessSync, constants } from 'node:fs';
import { chmod, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeLocalFolder, readIfPresent, writeAtomic } from '@szafa/client/node';
import { CliError } from '../../errors.ts';
import type { Output } from '../print/output.ts';
import type { Settings } from './settings.ts';

/** The session that `login` stores, so that later commands need no password. */
export interface StoredSession {
  server: string;
  username: string;
  token: string;
  /** The key that opens the account's key bag. Absent if the session cannot open files. */
  kek?: string;
}

/** Name of a temporary file left by an interrupted `save`. */
const UNFINISHED = /^session\.json\.[0-9a-f]{12}$/;

/** Stores one session, in a file that only its owner can read. */
export function sessionStore({ settings, out }: { settings: Pick<Settings, 'config'>; out: Output }) {
  const folder = settings.config;
  const path = join(folder, 'session.json');

  function unusable(cause: NodeJS.ErrnoException): CliError {
    const message = `the configuration folder ${folder} cannot be used (${cause.code ?? cause.message})`;
    const hint = 'choose another one with --config or SZ_CONFIG';
    return new CliError('config', message, hint, { cause });
  }

  async function makePrivate(): Promise<void> {
    await chmod(path, 0o600);
    const message = `others could read ${path}, which opens your files; now only you can. szafa logout ends its token`;
    out.note('session-open', message, { path });
  }

  return {
    path,

    async load(): Promise<StoredSession | undefined> {
      let text: Buffer | undefined;
      try {
        text = await readIfPresent(path);
        if (text && ((await stat(path)).mode & 0o077) !== 0) await makePrivate();
      } catch (error) {
        throw (error as { code?: string }).code === 'in-the-way' ? error : unusable(error as Error);
      }
      const session = text && parseSession(text.toString());
      if (session || !text) return session;
      throw new CliError('session', `${path} is damaged`, 'delete it and log in again: szafa login');
    },

    /** Creates the folder. Runs first: a login that cannot be stored is useless, and so is a transfer that cannot be resumed. */
    prepare(): void {
      try {
        makeLocalFolder(folder, 0o700);
        accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
      } catch (error) {
        throw unusable(error as NodeJS.ErrnoException);
      }
    },

    save: (session: StoredSession): Promise<void> =>
      writeAtomic(path, `${JSON.stringify(session)}\n`).catch((error) => {
        throw unusable(error);
      }),

    /** Removes the session, and temporary files of killed commands: they hold the same secrets. */
    async remove(): Promise<void> {
      await rm(path, { force: true });
      const names = await readdir(folder).catch(() => []);
      for (const name of names.filter((one) => UNFINISHED.test(one))) {
        await rm(join(folder, name), { force: true });
      }
    },
  };
}

function parseSession(text: string): StoredSession | undefined {
  try {
    const { server, username, token, kek } = JSON.parse(text) as Record<string, unknown>;
    const isSound = [server, username, token].every((field) => typeof field === 'string' && field !== '');
    if (!isSound || (kek !== undefined && typeof kek !== 'string')) return undefined;
    return { server, username, token, ...(kek !== undefined && { kek }) } as StoredSession;
  } catch {
    return undefined; // the caller reports a damaged file
  }
}
