import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { SzafaError } from '../errors.ts';
import type { ContactPin, ContactStores } from '../shares/contacts.ts';
import { readIfThere, writeWhole } from './whole-file.ts';

interface ContactFile extends ContactPin {
  server: string;
  username: string;
  contact: string;
}

function parse(path: string, text: Uint8Array): ContactFile {
  try {
    const json = JSON.parse(Buffer.from(text).toString()) as ContactFile;
    const { server, username, contact, digest, verified } = json;
    const sound = [server, username, contact].every((one) => typeof one === 'string');
    if (sound && /^[0-9a-f]{64}$/.test(digest) && typeof verified === 'boolean')
      return { server, username, contact, digest, verified };
  } catch {
    // as below
  }
  // To go on without it would be to forget what it protects from.
  throw new SzafaError('pins', `${path} is damaged`);
}

/** What this machine knows of the keys of other accounts: a file for each, in one folder, without a secret. @public */
export function fileContacts(folder: string, server: string): ContactStores {
  return {
    of(username) {
      const pathOf = (contact: string) => {
        const id = createHash('sha256').update(JSON.stringify([server, username, contact]));
        return join(folder, `contact-${id.digest('hex').slice(0, 32)}.json`);
      };
      return {
        async load(contact) {
          const path = pathOf(contact);
          const text = await readIfThere(path);
          const found = text && parse(path, text);
          if (
            found &&
            (found.server !== server || found.username !== username || found.contact !== contact)
          ) {
            throw new SzafaError('pins', `${path} is that of another account`);
          }
          return found && { digest: found.digest, verified: found.verified };
        },
        async save(contact, { digest, verified }) {
          const file: ContactFile = { server, username, contact, digest, verified };
          await writeWhole(pathOf(contact), `${JSON.stringify(file)}\n`);
        },
      };
    },
  };
}
