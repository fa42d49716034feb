import {
  type ContactPin,
  type ContactStores,
  type Journal,
  type Pin,
  type Pins,
  type RevStores,
  SzafaError,
} from '@szafa/client';
import type { UnfinishedUpload } from './bridge/calls.ts';

/** Stored between visits. The key is a CryptoKey that cannot be exported; journals are sealed. */
export interface StoredSession {
  username: string;
  token: string;
  kek: CryptoKey;
  /** The id of the passkey that the key is of, and not of the password. */
  passkey?: string;
}

/** The account whose journals are still stored. */
interface EndedSession {
  username: string;
}

/** Stores cleared with a session. Pins stay: they hold no secret, not even a name, and protect the next session. */
const OF_A_SESSION = ['session', 'journal', 'uploads'] as const;
/** Unfinished uploads of visitors, which belong to no account: anyone with the link can resume them. */
const OF_VISITORS = ['visitor-journal', 'visitor-uploads'] as const;
const STORES = [...OF_A_SESSION, ...OF_VISITORS, 'pins', 'revs', 'contacts'] as const;
type Store = (typeof STORES)[number];

const BLOCKED_MS = 3_000;

let opening: Promise<IDBDatabase> | undefined;
let isOpen = false;
/** Other tabs let go of it at once; one that does not shows a page of before they did. */
let isBlocked = false;

function finished<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function database(): Promise<IDBDatabase> {
  if (!opening) {
    opening = openWhole();
    opening.then(() => {
      isOpen = true;
    }, forget);
  }
  return isOpen ? opening : unlessBlocked(opening);
}

const forget = () => {
  opening = undefined;
  isOpen = false;
};

/** Rejects while another tab blocks the database, so that the page can say so. */
function unlessBlocked(waited: Promise<IDBDatabase>): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const timer = setInterval(() => {
      if (isBlocked) reject(new SzafaError('old-tab', 'another tab keeps the database from being opened'));
    }, BLOCKED_MS);
    waited.then(resolve, reject).finally(() => clearInterval(timer));
  });
}

/** With all stores, whichever page made the database: what it lacks is added, and what it has beside them stays. */
async function openWhole(version?: number): Promise<IDBDatabase> {
  const request = indexedDB.open('szafa', version);
  const lacks = (name: Store) => !request.result.objectStoreNames.contains(name);
  request.onupgradeneeded = () => {
    for (const name of STORES.filter(lacks)) request.result.createObjectStore(name);
  };
  request.onblocked = () => {
    isBlocked = true;
  };
  const found = await finished(request);
  isBlocked = false;
  // The page of another tab adds what this one does not know of: it would wait for this connection.
  found.onversionchange = () => {
    found.close();
    forget();
  };
  found.onclose = forget;
  if (!STORES.some(lacks)) return found;
  found.close();
  return openWhole(found.version + 1);
}

async function read<T>(store: Store, key: string): Promise<T | undefined> {
  return finished(
    (await database()).transaction(store).objectStore(store).get(key) as IDBRequest<T | undefined>,
  );
}

async function write(store: Store, change: (objects: IDBObjectStore) => void): Promise<void> {
  const transaction = (await database()).transaction(store, 'readwrite');
  change(transaction.objectStore(store));
  await done(transaction);
}

function done(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error);
  });
}

export const sessionStore = {
  session: () => read<StoredSession | EndedSession>('session', 'current'),
  keepSession: (session: StoredSession) => write('session', (objects) => objects.put(session, 'current')),

  /** Replaces the session after a change of its password. */
  renewSession: (session: StoredSession) =>
    write('session', (objects) => {
      const found = objects.get('current') as IDBRequest<StoredSession | undefined>;
      found.onsuccess = () => {
        // Another tab may have signed out.
        if (found.result?.token === session.token) objects.put(session, 'current');
      };
    }),

  /** Token and key go. The rest waits for the same account: it is sealed, but for the names of unfinished uploads. Whether it was done. */
  async endSession(token: string): Promise<boolean> {
    let isDone = false;
    await write('session', (objects) => {
      const found = objects.get('current') as IDBRequest<StoredSession | undefined>;
      found.onsuccess = () => {
        // Another tab may have signed in again.
        if (found.result?.token !== token) return;
        const ended: EndedSession = { username: found.result.username };
        objects.put(ended, 'current');
        isDone = true;
      };
    });
    return isDone;
  },

  /**
   * Names the download of a share: the one that is kept, in whichever tab, or this one from now on. It is kept before it is taken,
   * so that a reload is no other download.
   */
  async ticket(shareId: string, fresh: string): Promise<string> {
    const key = `ticket ${shareId}`;
    let ticket = fresh;
    await write('session', (objects) => {
      const found = objects.get(key) as IDBRequest<string | undefined>;
      found.onsuccess = () => {
        if (found.result === undefined) objects.put(fresh, key);
        else ticket = found.result;
      };
    });
    return ticket;
  },

  /** Token, key, tickets, journals and names of unfinished uploads. `token`: unless another session has begun since that one. Whether it was done. */
  async forgetAll(token?: string): Promise<boolean> {
    const transaction = (await database()).transaction(OF_A_SESSION, 'readwrite');
    const found = transaction.objectStore('session').get('current') as IDBRequest<
      Partial<StoredSession> | undefined
    >;
    let isDone = false;
    found.onsuccess = () => {
      const current = found.result?.token;
      if (token !== undefined && current !== undefined && current !== token) return;
      isDone = true;
      for (const store of OF_A_SESSION) transaction.objectStore(store).clear();
    };
    await done(transaction);
    return isDone;
  },
};

/** Uploads that were not finished, by name: enough to find the file again. */
function notesIn(store: Store) {
  return {
    async all(): Promise<UnfinishedUpload[]> {
      const all = (await database()).transaction(store).objectStore(store).getAll();
      return finished(all as IDBRequest<UnfinishedUpload[]>);
    },
    store: (uploads: UnfinishedUpload[]) =>
      write(store, (objects) => {
        for (const upload of uploads) objects.put(upload, upload.id);
      }),
    forget: (id: string) => write(store, (objects) => objects.delete(id)),
  };
}

export const unfinishedUploads = notesIn('uploads');
export const visitorUploads = notesIn('visitor-uploads');

/** The records of an entry are kept one by one; the entry itself has the first of these keys. */
const recordsOf = (key: string) => IDBKeyRange.bound(key, `${key}~`);

const journalIn = (store: Store): Journal => ({
  async load(key) {
    const all = (await database()).transaction(store).objectStore(store).getAll(recordsOf(key));
    const parts = await finished(all as IDBRequest<Uint8Array<ArrayBuffer>[]>);
    return parts.length > 0 ? new Uint8Array(await new Blob(parts).arrayBuffer()) : undefined;
  },
  store: (key, entry) =>
    write(store, (objects) => {
      objects.delete(recordsOf(key));
      objects.put(entry, key);
    }),
  append: (key, record) =>
    write(store, (objects) => {
      const here = objects.count(recordsOf(key));
      here.onsuccess = () => {
        if (here.result > 0) objects.put(record, `${key}/${String(here.result).padStart(8, '0')}`);
      };
    }),
  remove: (key) => write(store, (objects) => objects.delete(recordsOf(key))),
});

export const browserJournal = journalIn('journal');
export const visitorJournal = journalIn('visitor-journal');

const hashed = async (username: string) =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(username))).toHex();

export const browserRevs: RevStores = {
  of: (username) => ({
    load: async () => (await read<Map<string, number>>('revs', await hashed(username))) ?? new Map(),
    async save(revs) {
      const key = await hashed(username);
      await write('revs', (objects) => {
        const found = objects.get(key) as IDBRequest<Map<string, number> | undefined>;
        found.onsuccess = () => {
          // Another tab may have seen later ones.
          const all = found.result ?? new Map<string, number>();
          for (const [fileId, rev] of revs) all.set(fileId, Math.max(rev, all.get(fileId) ?? 1));
          objects.put(all, key);
        };
      });
    },
  }),
};

/** Pins of this origin only: the database belongs to it. */
export const browserPins: Pins = {
  of(username) {
    const key = () => hashed(username);
    return {
      load: async () => read<Pin>('pins', await key()),
      async save(pin) {
        const at = await key();
        await write('pins', (objects) => {
          const found = objects.get(at) as IDBRequest<Pin | undefined>;
          // Another tab may have seen a later one.
          found.onsuccess = () => {
            if ((found.result?.rev ?? 0) <= pin.rev) objects.put(pin, at);
          };
        });
      },
      async forget() {
        const at = await key();
        await write('pins', (objects) => objects.delete(at));
      },
    };
  },
  async services() {
    const all = (await database()).transaction('pins').objectStore('pins').getAll();
    const server = globalThis.location.origin;
    return (await finished(all as IDBRequest<Pin[]>)).map(({ serviceId }) => ({ server, serviceId }));
  },
};

/** Without names, as pins are: who knows whom is nobody's business after a sign-out. */
export const browserContacts: ContactStores = {
  of(username, serviceId) {
    const keyOf = (contact: string) => hashed(JSON.stringify([serviceId, username, contact]));
    return {
      load: async (contact) => read<ContactPin>('contacts', await keyOf(contact)),
      async saveFirst(contact, pin) {
        const key = await keyOf(contact);
        let first = pin;
        await write('contacts', (objects) => {
          const found = objects.get(key) as IDBRequest<ContactPin | undefined>;
          found.onsuccess = () => {
            // Another tab may have seen others first.
            if (found.result) first = found.result;
            else objects.put(pin, key);
          };
        });
        return first;
      },
      async save(contact, pin) {
        const key = await keyOf(contact);
        await write('contacts', (objects) => objects.put(pin, key));
      },
    };
  },
};
