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

async function readAll<T>(store: Store, keys?: IDBKeyRange): Promise<T[]> {
  return finished((await database()).transaction(store).objectStore(store).getAll(keys) as IDBRequest<T[]>);
}

/**
 * Writes what `change` makes of the stored value, in one transaction, since other tabs may write it too. If that is undefined, the
 * value stays. Returns what is stored then.
 */
async function update<T>(
  store: Store,
  key: string,
  change: (found: T | undefined) => T | undefined,
): Promise<T | undefined> {
  let stored: T | undefined;
  await write(store, (objects) => {
    const found = objects.get(key) as IDBRequest<T | undefined>;
    found.onsuccess = () => {
      const next = change(found.result);
      stored = next ?? found.result;
      if (next !== undefined) objects.put(next, key);
    };
  });
  return stored;
}

export const sessionStore = {
  session: () => read<StoredSession | EndedSession>('session', 'current'),
  keepSession: (session: StoredSession) => write('session', (objects) => objects.put(session, 'current')),

  /** Replaces the session after a change of its password, unless another tab has signed out. */
  renewSession: (session: StoredSession) =>
    update<StoredSession>('session', 'current', (found) =>
      found?.token === session.token ? session : undefined,
    ),

  /**
   * Removes token and key; the rest waits for the same account: it is sealed, but for the names of unfinished uploads. Returns false if
   * another tab has signed in again.
   */
  async endSession(token: string): Promise<boolean> {
    let isDone = false;
    await update<Partial<StoredSession> & EndedSession>('session', 'current', (found) => {
      if (found?.token !== token) return undefined;
      isDone = true;
      return { username: found.username };
    });
    return isDone;
  },

  /** Returns the stored ticket of a share, or stores this one: stored before the download begins, so that a reload continues it. */
  ticket: async (shareId: string, fresh: string) =>
    (await update<string>('session', `ticket ${shareId}`, (found) => found ?? fresh))!,

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
    all: () => readAll<UnfinishedUpload>(store),
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
    const parts = await readAll<Uint8Array<ArrayBuffer>>(store, recordsOf(key));
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
      await update<Map<string, number>>('revs', await hashed(username), (all = new Map()) => {
        // Another tab may have seen later ones.
        for (const [fileId, rev] of revs) all.set(fileId, Math.max(rev, all.get(fileId) ?? 1));
        return all;
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
        // Another tab may have seen a later one.
        await update<Pin>('pins', await key(), (found) => ((found?.rev ?? 0) <= pin.rev ? pin : undefined));
      },
      async forget() {
        const at = await key();
        await write('pins', (objects) => objects.delete(at));
      },
    };
  },
  async services() {
    const server = globalThis.location.origin;
    return (await readAll<Pin>('pins')).map(({ serviceId }) => ({ server, serviceId }));
  },
};

/** Without names, as pins are: who knows whom is nobody's business after a sign-out. */
export const browserContacts: ContactStores = {
  of(username, serviceId) {
    const keyOf = (contact: string) => hashed(JSON.stringify([serviceId, username, contact]));
    return {
      load: async (contact) => read<ContactPin>('contacts', await keyOf(contact)),
      // Another tab may have seen others first.
      saveFirst: async (contact, pin) =>
        (await update<ContactPin>('contacts', await keyOf(contact), (found) => found ?? pin))!,
      async save(contact, pin) {
        const key = await keyOf(contact);
        await write('contacts', (objects) => objects.put(pin, key));
      },
    };
  },
};
