import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ConnectOptions, type Engine, Szafa } from '../src/index.ts';
import { nodeEngine, nodeTransport } from '../src/node/index.ts';

export interface Service {
  url: string;
  /** A folder for the test's own files. */
  folder: string;
  stop(): Promise<void>;
}

const main = fileURLToPath(new URL('../../server/src/main.ts', import.meta.url));

/** By their settings, with how many of the process's test files use them. */
const running = new Map<string, { started: Promise<Started>; users: number }>();

/** The real service on a free port, one for all test files of a process that want the same settings. */
export async function startService(env: Record<string, string> = {}): Promise<Service> {
  const settings = JSON.stringify(env);
  const shared = running.get(settings) ?? { started: start(env), users: 0 };
  running.set(settings, shared);
  shared.users++;
  const { url, end } = await shared.started;
  const folder = mkdtempSync(join(tmpdir(), 'szafa-client-'));
  return {
    url,
    folder,
    async stop() {
      rmSync(folder, { recursive: true, force: true });
      if (--shared.users > 0) return;
      running.delete(settings);
      await end();
    },
  };
}

interface Started {
  url: string;
  end(): Promise<void>;
}

async function start(env: Record<string, string>): Promise<Started> {
  const data = mkdtempSync(join(tmpdir(), 'szafa-client-data-'));
  const settings = { SZ_PORT: '0', SZ_DATA: data, SZ_WORKERS: '1', SZ_MIN_FREE: '0', ...env };
  const child = spawn(process.execPath, [main], {
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  const url = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => {
      // Otherwise the tests would wait for it after their end.
      child.kill('SIGKILL');
      reject(new Error(`the service did not start: ${said}`));
    }, 60_000);
    const listen = (chunk: Buffer) => {
      said += chunk;
      const found = /szafa listens on (http:\/\/[^\s"]+)/.exec(said)?.[1];
      if (!found) return;
      clearTimeout(timer);
      resolve(found);
    };
    child.stdout.on('data', listen);
    child.stderr.on('data', listen);
    child.once('exit', (code) => reject(new Error(`the service ended with ${code}: ${said}`)));
  });
  return {
    url,
    async end() {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await ended;
      clearTimeout(timer);
      rmSync(data, { recursive: true, force: true });
    },
  };
}

export const engine = nodeEngine();
/** The same with a derivation that takes no time: what all but a few tests use. session.test.ts and the vectors have the real one. */
export const quick: Engine = {
  ...engine,
  argon2id: (secret, salt) => engine.argon2id(secret, salt, { m: 64, t: 1, p: 1 }),
};
export const transport = nodeTransport();
export const password = 'correct horse battery staple';

/** Quick to give up, so that a test of a failure does not wait. */
export function optionsFor(server: string, more: Partial<ConnectOptions> = {}): ConnectOptions {
  return { server, engine: quick, transport, retry: { forMs: 3_000, baseMs: 20, capMs: 200 }, ...more };
}

let number = 0;

/** A new account. */
export function newUser(server: string, more: Partial<ConnectOptions> = {}): Promise<Szafa> {
  const username = `user_${process.pid}_${++number}`;
  return Szafa.register(optionsFor(server, more), { username, password });
}

/** The same account through another address, or on another device: nothing is carried over but what the password gives everywhere. */
export function sameUser(szafa: Szafa, server: string, more: Partial<ConnectOptions> = {}): Promise<Szafa> {
  const { username, token, keys } = szafa;
  return Szafa.open(optionsFor(server, more), { username, token: token!, kek: keys.kek.slice() });
}

/** Bytes that differ from place to place, the same at every call. */
export function content(length: number, seed = 1): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let state = seed;
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

export async function readAll(stream: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  return new Uint8Array(Buffer.concat(await Array.fromAsync(stream)));
}

/** ReadableStream.from, which the types of browsers do not know yet. */
export function streamOf(
  parts: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): ReadableStream<Uint8Array> {
  return (ReadableStream as unknown as { from(parts: unknown): ReadableStream<Uint8Array> }).from(parts);
}
