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

/** The session that is stored between visits. Its key is a CryptoKey that cannot be exported. */
export interface StoredSession {
  username: string;
  token: string;
  kek: CryptoKey;
  /** Id of the passkey that the key is derived from; absent if it is derived from the password. */
  passkey?: string;
}

/** The server ended the session, but the journals of this account are still stored. */
interface EndedSession {
  username: string;
}

/** Stores cleared at sign-out. Pins stay: they contain no secrets or names, and protect the next session. */
const OF_A_SESSION = ['session', 'journal', 'uploads'] as const;
/** Unfinished uploads of visitors belong to no account: anyone with the link can resume them. */
const OF_VISITORS = ['visitor-journal', 'visitor-uploads'] as const;
const STORES = [...OF_A_SESSION, ...OF_VISITORS, 'pins', 'revs', 'contacts'] as const;
type Store = (typeof STORES)[number];

const BLOCKED_MS = 3_000;

let opening: Promise<IDBDatabase> | undefined;
let isOpen = false;
/** Another tab keeps the database open. Current tabs close it on `versionchange`; only an outdated page does not. */
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

/** Rejects if another tab blocks the database, so that the page can tell the user to close that tab. */
function unlessBlocked(waited: Promise<IDBDatabase>): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const timer = setInterval(() => {
      if (isBlocked) reject(new SzafaError('old-tab', 'another tab keeps the database from being opened'));
    }, BLOCKED_MS);
    waited.then(resolve, reject).finally(() => clearInterval(timer));
  });
}

/** Adds missing stores and keeps unknown ones: an older or newer version of the page may have created the database. */
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
  // A newer page in another tab wants to add stores, and waits until this connection is closed.
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
 * Replaces the stored value by the result of `change`, unless that is undefined, and returns the value stored afterwards.
 * One transaction reads and writes, because other tabs may write the same value.
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

  /** Replaces the session after a password change, unless another tab has signed out. */
  renewSession: (session: StoredSession) =>
    update<StoredSession>('session', 'current', (found) =>
      found?.token === session.token ? session : undefined,
    ),

  /**
   * Removes token and key. The journals, which are sealed, and the names of unfinished uploads stay for the next sign-in
   * to the same account. Returns false if another tab has signed in again.
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

  /** Returns the stored ticket of a share, or stores `fresh`. A reload then continues the same download. */
  ticket: async (shareId: string, fresh: string) =>
    (await update<string>('session', `ticket ${shareId}`, (found) => found ?? fresh))!,

  /**
   * Deletes token, key, tickets, journals and the names of unfinished uploads. Does nothing and returns false if `token`
   * is given and the stored session has a different one.
   */
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

/** Stores what the page needs to find the files of unfinished uploads again. */
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

/** The range of an entry's keys. The entry itself has the first key; appended records follow. */
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
        // Another tab may have stored higher revisions.
        for (const [fileId, rev] of revs) all.set(fileId, Math.max(rev, all.get(fileId) ?? 1));
        return all;
      });
    },
  }),
};

/** The pins of this origin. The browser gives each origin its own database. */
export const browserPins: Pins = {
  of(username) {
    const key = () => hashed(username);
    return {
      load: async () => read<Pin>('pins', await key()),
      async save(pin) {
        // Another tab may have stored a pin with a higher revision.
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

/** Keys are hashed, like those of pins: the store outlives a sign-out and must not reveal who knows whom. */
export const browserContacts: ContactStores = {
  of(username, serviceId) {
    const keyOf = (contact: string) => hashed(JSON.stringify([serviceId, username, contact]));
    return {
      load: async (contact) => read<ContactPin>('contacts', await keyOf(contact)),
      // Another tab may have pinned different keys first; the first pin wins.
      saveFirst: async (contact, pin) =>
        (await update<ContactPin>('contacts', await keyOf(contact), (found) => found ?? pin))!,
      async save(contact, pin) {
        const key = await keyOf(contact);
        await write('contacts', (objects) => objects.put(pin, key));
      },
    };
  },
};
