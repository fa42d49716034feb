import { createHash } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isWhole, type Pin } from '@szafa/format';
import { SzafaError } from '../../errors.ts';
import type { Pins } from '../../szafa.ts';
import { readIfThere, writeWhole } from './whole-file.ts';

const NAME = /^keys-[0-9a-f]{32}\.json$/;

interface PinFile extends Pin {
  server: string;
  username: string;
}

function parse(path: string, text: Uint8Array): PinFile {
  try {
    const json = JSON.parse(Buffer.from(text).toString()) as PinFile;
    const { server, username, serviceId, rev, digest, profile = 1, master } = json;
    const sound = [server, username, serviceId, digest].every((one) => typeof one === 'string');
    const counts = Number.isSafeInteger(rev) && rev > 0 && Number.isSafeInteger(profile);
    const isMaster =
      master === undefined ||
      (isWhole(master.epoch, 1, Number.MAX_SAFE_INTEGER) && typeof master.digest === 'string');
    if (sound && counts && isMaster) return { server, username, serviceId, rev, digest, profile, master };
  } catch {
    // as below
  }
  // To go on without it would be to forget what it protects from.
  throw new SzafaError('pins', `${path} is damaged`);
}

/**
 * What this machine knows of services and of the key bags of accounts: a file for each, in one folder, without a secret. A file that is
 * damaged stops whoever needs it; others go on, and `onDamaged` hears of it. @public
 */
export function filePins(folder: string, server: string, onDamaged?: (path: string) => void): Pins {
  const load = async (path: string) => {
    const text = await readIfThere(path);
    return text && parse(path, text);
  };
  return {
    of(username) {
      const id = createHash('sha256').update(JSON.stringify([server, username]));
      const path = join(folder, `keys-${id.digest('hex').slice(0, 32)}.json`);
      const own = async () => {
        const pin = await load(path);
        if (pin && (pin.server !== server || pin.username !== username)) {
          throw new SzafaError('pins', `${path} is that of another account`);
        }
        return pin;
      };
      return {
        load: own,
        async save({ serviceId, rev, digest, profile, master }) {
          // Another process may have seen a later one meanwhile.
          if (((await own())?.rev ?? 0) > rev) return;
          const pin: PinFile = { server, username, serviceId, rev, digest, profile, master };
          await writeWhole(path, `${JSON.stringify(pin)}\n`);
        },
        forget: () => rm(path, { force: true }),
      };
    },
    async services() {
      const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return [];
        throw error;
      });
      const paths = names.filter((name) => NAME.test(name)).map((name) => join(folder, name));
      const found = await Promise.all(
        paths.map((path) =>
          load(path).catch((error: unknown) => {
            if (!(error instanceof SzafaError)) throw error;
            onDamaged?.(path);
            return undefined;
          }),
        ),
      );
      return found.filter((pin) => pin !== undefined);
    },
  };
}
