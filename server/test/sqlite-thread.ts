import { once } from 'node:events';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import type { Dialect, Sql, SqlStore, Value } from '../src/platform/sql/sql.ts';
import { SqliteStore } from '../src/platform/sql/sqlite.ts';

/**
 * A SqliteStore in a thread of its own. Its calls block their thread while another connection holds the write
 * lock, so several stores on one file in one thread would wait for themselves; in the service each process has one.
 */
type Call =
  | { id: number; run: 'query' | 'execute'; tx: number; text: string; params: Value[] }
  | { id: number; run: 'begin' | 'commit' | 'rollback'; tx: number }
  | { id: number; run: 'close' };
type Result = { id: number; rows?: unknown[]; error?: unknown };

export async function openInThread(path: string): Promise<SqlStore> {
  const thread = new Worker(new URL(import.meta.url), { workerData: { path } });
  const [dialect] = (await once(thread, 'message')) as [Dialect];
  const waiting = new Map<number, { resolve: (rows: unknown[]) => void; reject: (error: unknown) => void }>();
  let last = 0;
  thread.on('message', ({ id, rows, error }: Result) => {
    const { resolve, reject } = waiting.get(id)!;
    waiting.delete(id);
    if (error === undefined) resolve(rows ?? []);
    else reject(error);
  });
  const ask = (call: object): Promise<unknown[]> =>
    new Promise((resolve, reject) => {
      const id = ++last;
      waiting.set(id, { resolve, reject });
      thread.postMessage({ id, ...call });
    });
  const sqlOf = (tx: number): Sql => {
    const sql: Sql = {
      dialect,
      query: <Row>(text: string, ...params: Value[]) =>
        ask({ run: 'query', tx, text, params }) as Promise<Row[]>,
      execute: <Row>(text: string, ...params: Value[]) =>
        ask({ run: 'execute', tx, text, params }) as Promise<Row[]>,
      transaction: async (work) => {
        if (tx !== 0) return work(sql);
        const own = ++last;
        await ask({ run: 'begin', tx: own });
        try {
          const result = await work(sqlOf(own));
          await ask({ run: 'commit', tx: own });
          return result;
        } catch (error) {
          await ask({ run: 'rollback', tx: own });
          throw error;
        }
      },
    };
    return sql;
  };
  return {
    ...sqlOf(0),
    close: async () => {
      await ask({ run: 'close' });
      await thread.terminate();
    },
  };
}

class RolledBack extends Error {}

interface Open {
  sql: Sql;
  end: (how: 'commit' | 'rollback') => void;
}

/** The thread's side: a transaction stays open in the store until `commit` or `rollback` comes. */
function serve(store: SqliteStore): void {
  const open = new Map<number, Open>();
  const endings = new Map<number, Promise<void>>();
  const begin = (tx: number): Promise<void> =>
    new Promise((begun, failed) => {
      const ending = store.transaction(async (sql) => {
        const how = await new Promise<string>((end) => {
          open.set(tx, { sql, end });
          begun();
        });
        open.delete(tx);
        if (how === 'rollback') throw new RolledBack();
      });
      // Only a transaction that cannot even begin fails here; a later end is awaited below.
      ending.catch(failed);
      endings.set(tx, ending);
    });
  const end = async (tx: number, how: 'commit' | 'rollback'): Promise<void> => {
    open.get(tx)?.end(how);
    try {
      await endings.get(tx);
    } catch (error) {
      if (how === 'commit') throw error;
    } finally {
      endings.delete(tx);
    }
  };
  const run = async (call: Call): Promise<unknown[]> => {
    switch (call.run) {
      case 'query':
      case 'execute':
        return (call.tx === 0 ? store : open.get(call.tx)!.sql)[call.run](call.text, ...call.params);
      case 'begin':
        await begin(call.tx);
        break;
      case 'commit':
      case 'rollback':
        await end(call.tx, call.run);
        break;
      case 'close':
        await store.close();
    }
    return [];
  };
  parentPort!.on('message', (call: Call) => {
    run(call).then(
      (rows) => parentPort!.postMessage({ id: call.id, rows: rows.map((row) => ({ ...(row as object) })) }),
      (error) => parentPort!.postMessage({ id: call.id, error }),
    );
  });
}

if (parentPort && workerData?.path) {
  const store = new SqliteStore(workerData.path as string);
  parentPort.postMessage(store.dialect);
  serve(store);
}
