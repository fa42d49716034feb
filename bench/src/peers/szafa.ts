import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type InitBody, pathOf, type RouteName, routes } from '@szafa/protocol';
import { Daemon, DaemonError } from '../daemon.ts';
import { Connection } from '../load/connection.ts';
import { patternSha256 } from '../load/pattern.ts';
import { type LoadRequest, request } from '../load/request.ts';
import type { Batch, Peer } from './peer.ts';

const main = fileURLToPath(new URL('../../../server/src/main.ts', import.meta.url));

/** Our server with its own account, used through the specified API. */
export class Szafa implements Peer {
  readonly name = 'szafa';
  readonly daemon: Daemon;
  readonly port: number;
  readonly data: string;
  readonly token: string;

  private constructor(daemon: Daemon, port: number, data: string, token: string) {
    this.daemon = daemon;
    this.port = port;
    this.data = data;
    this.token = token;
  }

  static async start(folder: string, username = 'bench', env: Record<string, string> = {}): Promise<Szafa> {
    const data = join(folder, 'data');
    await mkdir(folder, { recursive: true });
    const daemon = new Daemon('szafa', [process.execPath, main], join(folder, 'output'), {
      ...process.env,
      SZ_HOST: '127.0.0.1',
      SZ_PORT: '0',
      SZ_DATA: data,
      SZ_MIN_FREE: '0',
      // Free deleted bytes soon, so that the next measurement does not have to wait.
      SZ_SWEEP_INTERVAL: '1',
      ...env,
    });
    const url = (await daemon.printed(/szafa listens on (http:\/\/[^\s"]+)/))[1]!;
    const port = Number(new URL(url).port);
    return new Szafa(daemon, port, data, await register(port, username));
  }

  /** Returns the same server with a new account. */
  async another(username: string): Promise<Szafa> {
    return new Szafa(this.daemon, this.port, this.data, await register(this.port, username));
  }

  /** Returns the same server with an existing account, and the time of the login. */
  async signedIn(username: string, password: string): Promise<{ szafa: Szafa; ms: number }> {
    const begun = performance.now();
    const token = await session(this.port, 'login', username, password);
    const ms = performance.now() - begun;
    return { szafa: new Szafa(this.daemon, this.port, this.data, token), ms };
  }

  request(
    route: RouteName,
    params: Record<string, string | number> = {},
    body?: object,
    query = '',
  ): LoadRequest {
    return request({
      method: routes[route].method,
      path: pathOf(route, params) + query,
      headers: {
        Authorization: `Bearer ${this.token}`,
        ...(body ? { 'Content-Type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
  }

  call<T>(route: RouteName, params?: Record<string, string | number>, body?: object): Promise<T> {
    return json<T>(this.port, this.request(route, params, body));
  }

  initBody(count: number, bytes: number): InitBody {
    const sha256 = patternSha256(bytes);
    return {
      file_name: 'bench',
      file_size: count * bytes,
      total_sha256: sha256,
      chunk_count: count,
      chunks: Array.from({ length: count }, () => ({ size: bytes, sha256 })),
      enc_params: {},
    };
  }

  async init(count: number, bytes: number): Promise<string> {
    const { transfer_id } = await this.call<{ transfer_id: string }>('init', {}, this.initBody(count, bytes));
    return transfer_id;
  }

  put(transferId: string, idx: number, bytes: number): LoadRequest {
    const path = pathOf('writeVolume', { transfer_id: transferId, idx });
    const headers = { Authorization: `Bearer ${this.token}`, 'Content-Type': 'application/octet-stream' };
    return request({ method: 'PUT', path, headers, body: bytes });
  }

  get(fileId: string, idx: number, bytes: number): LoadRequest {
    return { ...this.request('readVolume', { file_id: fileId, idx }), expectBytes: bytes };
  }

  async prepare(count: number, bytes: number): Promise<Batch> {
    const before = await this.files();
    const transferId = await this.init(count, bytes);
    const numbers = Array.from({ length: count }, (_, i) => i + 1);
    let fileId: string | undefined;
    return {
      puts: numbers.map((idx) => this.put(transferId, idx, bytes)),
      gets: async () => {
        const done = await this.call<{ file_id: string }>('complete', { transfer_id: transferId });
        fileId = done.file_id;
        return numbers.map((idx) => this.get(done.file_id, idx, bytes));
      },
      remove: async () => {
        if (fileId === undefined) await this.call('cancel', { transfer_id: transferId });
        else await this.call('deleteFile', { file_id: fileId });
        await this.shrunkTo(before);
      },
    };
  }

  /** Counts the volume files, including those that are being deleted. */
  async files(): Promise<number> {
    const lists = await Promise.all(['volumes', 'trash'].map((name) => filesBelow(join(this.data, name))));
    return lists.reduce((sum, count) => sum + count);
  }

  /** Waits until deleted volumes are gone from the disk, so that the deletion does not disturb the next measurement. */
  async shrunkTo(files: number): Promise<void> {
    for (let waited = 0; waited < 30_000; waited += 100) {
      if ((await this.files()) <= files) return;
      await sleep(100);
    }
    throw new DaemonError('szafa did not free the bytes of a deleted file within 30 s');
  }
}

const register = (port: number, username: string) =>
  session(port, 'register', username, 'a password for the bench');

async function session(
  port: number,
  route: 'register' | 'login',
  username: string,
  password: string,
): Promise<string> {
  const body = JSON.stringify({ username, password });
  const headers = { 'Content-Type': 'application/json' };
  const path = pathOf(route);
  const { token } = await json<{ token: string }>(port, request({ method: 'POST', path, headers, body }));
  return token;
}

async function json<T>(port: number, what: LoadRequest): Promise<T> {
  const connection = await Connection.open(port);
  try {
    return JSON.parse((await connection.exchange(what, true)).text) as T;
  } finally {
    connection.close();
  }
}

/** Lists again if a folder disappears in the meantime. */
async function filesBelow(folder: string): Promise<number> {
  for (let tries = 0; ; tries++) {
    try {
      const entries = await readdir(folder, { recursive: true, withFileTypes: true });
      return entries.filter((entry) => entry.isFile()).length;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || tries === 10) throw error;
    }
  }
}
