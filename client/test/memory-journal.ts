import type { Journal } from '../src/index.ts';

/** A journal without a disk. */
export function memoryJournal(): Journal & { entries: Map<string, Uint8Array> } {
  const entries = new Map<string, Uint8Array>();
  return {
    entries,
    load: async (key) => entries.get(key),
    store: async (key, entry) => void entries.set(key, entry),
    append: async (key, record) => {
      const entry = entries.get(key);
      if (entry) entries.set(key, new Uint8Array(Buffer.concat([entry, record])));
    },
    remove: async (key) => void entries.delete(key),
  };
}
