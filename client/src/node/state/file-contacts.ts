import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { SzafaError } from '../../errors.ts';
import type { ContactPin, ContactStores } from '../../shares/contacts.ts';
import { readIfThere, writeFirst, writeWhole } from './whole-file.ts';

interface ContactFile extends ContactPin {
  serviceId: string;
  username: string;
  contact: string;
}

function parse(path: string, text: Uint8Array): ContactFile {
  try {
    const json = JSON.parse(Buffer.from(text).toString()) as ContactFile;
    const { serviceId, username, contact, digest, verified } = json;
    const sound = [serviceId, username, contact].every((one) => typeof one === 'string');
    if (sound && /^[0-9a-f]{64}$/.test(digest) && typeof verified === 'boolean')
      return { serviceId, username, contact, digest, verified };
  } catch {
    // as below
  }
  // To go on without it would be to forget what it protects from.
  throw new SzafaError('pins', `${path} is damaged`);
}

/** What this machine knows of the keys of other accounts: a file for each, in one folder, without a secret. @public */
export function fileContacts(folder: string): ContactStores {
  return {
    of(username, serviceId) {
      const pathOf = (contact: string) => {
        const id = createHash('sha256').update(JSON.stringify([serviceId, username, contact]));
        return join(folder, `contact-${id.digest('hex').slice(0, 32)}.json`);
      };
      const textOf = (contact: string, { digest, verified }: ContactPin) => {
        const file: ContactFile = { serviceId, username, contact, digest, verified };
        return `${JSON.stringify(file)}\n`;
      };
      const load = async (contact: string): Promise<ContactPin | undefined> => {
        const path = pathOf(contact);
        const text = await readIfThere(path);
        const found = text && parse(path, text);
        if (!found) return undefined;
        if (found.serviceId !== serviceId || found.username !== username || found.contact !== contact)
          throw new SzafaError('pins', `${path} is that of another account`);
        return { digest: found.digest, verified: found.verified };
      };
      return {
        load,
        async saveFirst(contact, pin) {
          const isFirst = await writeFirst(pathOf(contact), textOf(contact, pin));
          return (isFirst ? undefined : await load(contact)) ?? pin;
        },
        save: (contact, pin) => writeWhole(pathOf(contact), textOf(contact, pin)),
      };
    },
  };
}
