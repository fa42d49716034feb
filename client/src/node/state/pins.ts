/** Files in which this machine remembers servers and accounts. They contain no secrets. */
import { createHash } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isDigest, isWhole, type Pin } from '@szafa/format';
import type { Pins } from '../../accounts/connect.ts';
import { SzafaError } from '../../errors.ts';
import type { RevStores } from '../../files/seen-revs.ts';
import type { ContactPin, ContactStores } from '../../sharing/contacts.ts';
import { readIfPresent, writeAtomic, writeIfAbsent } from './atomic-file.ts';

/** Returns the path of the file for these names. */
export function namedFile(folder: string, kind: string, names: string[], extension = 'json'): string {
  const id = createHash('sha256').update(JSON.stringify(names)).digest('hex').slice(0, 32);
  return join(folder, `${kind}-${id}.${extension}`);
}

const areTexts = (...values: unknown[]) => values.every((value) => typeof value === 'string');
const lineOf = (json: object) => `${JSON.stringify(json)}\n`;

/** Reads a JSON file. Throws if it is damaged: ignoring that would drop the protection that the pin gives. */
async function readPin<T>(path: string, check: (json: T) => T | undefined): Promise<T | undefined> {
  const text = await readIfPresent(path);
  if (!text) return undefined;
  let pin: T | undefined;
  try {
    pin = check(JSON.parse(text.toString()) as T);
  } catch {
    // reported below
  }
  if (!pin) throw new SzafaError('pins', `${path} is damaged`);
  return pin;
}

const foreignFile = (path: string) => new SzafaError('pins', `${path} belongs to another account`);

interface PinFile extends Pin {
  server: string;
  username: string;
}

function checkPin(json: PinFile): PinFile | undefined {
  const { server, username, serviceId, rev, digest, profile = 1, master } = json;
  const isNumbered = isWhole(rev, 1, Number.MAX_SAFE_INTEGER) && Number.isSafeInteger(profile);
  const isMaster =
    master === undefined ||
    (isWhole(master.epoch, 1, Number.MAX_SAFE_INTEGER) && typeof master.digest === 'string');
  if (!areTexts(server, username, serviceId, digest) || !isNumbered || !isMaster) return undefined;
  return { server, username, serviceId, rev, digest, profile, master };
}

const PIN_FILE = /^keys-[0-9a-f]{32}\.json$/;

/**
 * Keeps the pins of servers and key bags in a folder.
 * @param onDamaged called for a damaged file of another account; a damaged file of the account itself throws a SzafaError with code
 * `pins` @public
 */
export function filePins(folder: string, server: string, onDamaged?: (path: string) => void): Pins {
  const load = (path: string) => readPin(path, checkPin);
  return {
    of(username) {
      const path = namedFile(folder, 'keys', [server, username]);
      const own = async () => {
        const pin = await load(path);
        if (pin && (pin.server !== server || pin.username !== username)) throw foreignFile(path);
        return pin;
      };
      return {
        load: own,
        async save({ serviceId, rev, digest, profile, master }) {
          // Another process may have saved a later bag in the meantime.
          if (((await own())?.rev ?? 0) > rev) return;
          await writeAtomic(path, lineOf({ server, username, serviceId, rev, digest, profile, master }));
        },
        forget: () => rm(path, { force: true }),
      };
    },
    async services() {
      const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return [];
        throw error;
      });
      const paths = names.filter((name) => PIN_FILE.test(name)).map((name) => join(folder, name));
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

interface ContactFile extends ContactPin {
  serviceId: string;
  username: string;
  contact: string;
}

function checkContact({ serviceId, username, contact, digest, verified }: ContactFile) {
  const isSound = areTexts(serviceId, username, contact) && isDigest(digest) && typeof verified === 'boolean';
  return isSound ? { serviceId, username, contact, digest, verified } : undefined;
}

/** Keeps pins of other accounts' public keys in a folder. @public */
export function fileContacts(folder: string): ContactStores {
  return {
    of(username, serviceId) {
      const pathOf = (contact: string) => namedFile(folder, 'contact', [serviceId, username, contact]);
      const textOf = (contact: string, { digest, verified }: ContactPin) =>
        lineOf({ serviceId, username, contact, digest, verified } satisfies ContactFile);
      const load = async (contact: string): Promise<ContactPin | undefined> => {
        const path = pathOf(contact);
        const found = await readPin(path, checkContact);
        if (!found) return undefined;
        if (found.serviceId !== serviceId || found.username !== username || found.contact !== contact)
          throw foreignFile(path);
        return { digest: found.digest, verified: found.verified };
      };
      return {
        load,
        async saveFirst(contact, pin) {
          const isFirst = await writeIfAbsent(pathOf(contact), textOf(contact, pin));
          return (isFirst ? undefined : await load(contact)) ?? pin;
        },
        save: (contact, pin) => writeAtomic(pathOf(contact), textOf(contact, pin)),
      };
    },
  };
}

/** Beyond this number the oldest entries are dropped. */
const MOST_REVS = 200_000;

function parseRevs(text: Uint8Array): [string, number][] {
  try {
    const all = Object.entries(JSON.parse(Buffer.from(text).toString()) as Record<string, unknown>);
    return all.filter((one): one is [string, number] => Number.isSafeInteger(one[1]));
  } catch {
    return []; // damaged: start again, like a new device
  }
}

/** Keeps the highest `rev` of renamed files, in one file per account. @public */
export function fileRevs(folder: string, server: string): RevStores {
  return {
    of(username) {
      const path = namedFile(folder, 'revs', [server, username]);
      const load = async () => new Map(parseRevs((await readIfPresent(path)) ?? new Uint8Array(0)));
      return {
        load,
        async save(revs) {
          // Another process may have saved later revs in the meantime.
          const all = await load();
          for (const [fileId, rev] of revs) all.set(fileId, Math.max(rev, all.get(fileId) ?? 1));
          await writeAtomic(path, JSON.stringify(Object.fromEntries([...all].slice(-MOST_REVS))));
        },
      };
    },
  };
}
