import { type ClientBase, Query } from 'pg';
import type { Value } from './sql.ts';

interface Prepared {
  name: string;
  text: string;
}

const prepared = new Map<string, Prepared>();

/** The statement in PostgreSQL's spelling, under a name by which each connection keeps its plan. */
function prepare(text: string): Prepared {
  let found = prepared.get(text);
  if (!found) {
    let count = 0;
    found = { name: `s${prepared.size}`, text: text.replace(/\?/g, () => `$${++count}`) };
    prepared.set(text, found);
  }
  return found;
}

export function run<Row>(client: ClientBase, statement: string, params: Value[]): Promise<Row[]> {
  const { name, text } = prepare(statement);
  return new Promise((resolve, reject) => {
    const callback = (error: Error | null, result: { rows: Row[] }) =>
      error ? reject(error) : resolve(result.rows);
    // A query made by hand: from an object the driver makes one by copying every property with its descriptor.
    client.query(Object.assign(new Query(text, params.map(storable)), { name, callback }));
  });
}

/** No text here holds a NUL, which is no name and no id of ours either: it must be found nowhere, not fail. */
function storable(value: Value): Value {
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value;
}
