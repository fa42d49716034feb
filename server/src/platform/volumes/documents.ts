/** The store has text under a name of ours that is not what we write there. */
export class BrokenDocument extends Error {
  override name = 'BrokenDocument';
}

export function parseDocument<T extends object>(name: string, text: string): T {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new BrokenDocument(`${name} is no document`, { cause });
  }
  if (typeof document !== 'object' || document === null) throw new BrokenDocument(`${name} is no document`);
  return document as T;
}

/** Random ids, and the words for those who are not registered users. */
const ACCOUNT_ID = /^[0-9a-z]{1,32}$/;

export const isAccountId = (text: unknown) => typeof text === 'string' && ACCOUNT_ID.test(text);

export function checkedAccountId(id: string): string {
  if (!isAccountId(id)) throw new TypeError('not the id of an account');
  return id;
}

/** The account whose document has that name, if it is one. */
export function accountIdIn(name: string): string | undefined {
  const id = name.endsWith('.json') ? name.slice(0, -'.json'.length) : '';
  return isAccountId(id) ? id : undefined;
}
