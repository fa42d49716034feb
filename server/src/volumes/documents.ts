/** The store has text under a name of ours that is not what we write there. */
export class BrokenDocument extends Error {
  override name = 'BrokenDocument';
}

export function parseDocument<T>(name: string, text: string): T {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new BrokenDocument(`${name} is no document`, { cause });
  }
}

/** Random ones, and the words that stand for those who are no registered users. */
const ACCOUNT_ID = /^[0-9a-z]{1,32}$/;

export function checkedAccountId(id: string): string {
  if (!ACCOUNT_ID.test(id)) throw new TypeError('not the id of an account');
  return id;
}

/** The account whose document has that name, if it is one. */
export function accountIdIn(name: string): string | undefined {
  const id = name.endsWith('.json') ? name.slice(0, -'.json'.length) : '';
  return ACCOUNT_ID.test(id) ? id : undefined;
}
