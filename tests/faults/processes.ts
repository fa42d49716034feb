import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Service } from '../harness/index.ts';

/** Undefined when the process, or what was to be read of it, is gone. */
function ofProcess<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

/** Process ids of the workers that live now. */
export function workersOf(service: Service): number[] {
  const { pid } = service;
  const children = ofProcess(() => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')) ?? '';
  return children
    .trim()
    .split(' ')
    .filter((text) => text !== '')
    .map(Number);
}

export function killWorker(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // It died a moment earlier.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Sockets of a worker, as inodes. */
function socketsOf(pid: number): Set<string> {
  const found = new Set<string>();
  for (const fd of ofProcess(() => readdirSync(`/proc/${pid}/fd`)) ?? []) {
    const target = ofProcess(() => readlinkSync(`/proc/${pid}/fd/${fd}`));
    const inode = target && /^socket:\[(\d+)\]$/.exec(target)?.[1];
    if (inode) found.add(inode);
  }
  return found;
}

/** Files of a process below a folder that are open now. */
export function openFilesOf(pid: number, folder: string): string[] {
  const found: string[] = [];
  for (const fd of ofProcess(() => readdirSync(`/proc/${pid}/fd`)) ?? []) {
    const target = ofProcess(() => readlinkSync(`/proc/${pid}/fd/${fd}`));
    if (target?.startsWith(folder)) found.push(target);
  }
  return found;
}

/** The service's end of the connection from this local port, as an inode: 0 until it is accepted. */
function endOf(service: Service, localPort: number): string | undefined {
  const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0');
  const [ours, theirs] = [hex(Number(new URL(service.url).port)), hex(localPort)];
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)) {
    const [, local = '', remote = '', , , , , , , inode] = line.trim().split(/\s+/);
    if (local.endsWith(`:${ours}`) && remote.endsWith(`:${theirs}`)) return inode;
  }
  return undefined;
}

/** Waits until the primary has taken all these connections. */
export async function accepted(service: Service, clients: { socket: net.Socket }[]): Promise<void> {
  const isLeft = ({ socket }: { socket: net.Socket }) =>
    [undefined, '0'].includes(endOf(service, socket.localPort!));
  for (const end = Date.now() + 60_000; clients.some(isLeft); await sleep(20)) {
    assert.ok(Date.now() < end, 'a connection is not accepted');
  }
}

/** The worker that serves the connection from this local port; connections are handed over after a moment. */
export async function servingWorker(service: Service, localPort: number): Promise<number> {
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(20)) {
    const inode = endOf(service, localPort);
    const owner = inode && workersOf(service).find((pid) => socketsOf(pid).has(inode));
    if (owner) return owner;
  }
  assert.fail(`no worker serves port ${localPort}`);
}

/** Waits until this many workers answer requests; one that only just starts does not count. */
export async function workersAnswer(service: Service, count: number): Promise<number[]> {
  const answered = new Set<number>();
  // To find out who answered is much work, and a start takes a while.
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(50)) {
    // Connections go to those that listen in turn.
    for (const _ of workersOf(service)) {
      const worker = await probe(service);
      if (worker !== undefined) answered.add(worker);
    }
    const living = new Set(workersOf(service));
    for (const pid of answered) if (!living.has(pid)) answered.delete(pid);
    if (answered.size === count) return [...answered];
  }
  assert.fail(`${answered.size} workers answer instead of ${count}`);
}

/** Asks for a sign of life and tells which worker gave it; undefined when none came. */
async function probe(service: Service): Promise<number | undefined> {
  const { hostname, port } = new URL(service.url);
  const socket = net.connect(Number(port), hostname);
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(2000) });
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'data', { signal: AbortSignal.timeout(2000) });
    return await servingWorker(service, socket.localPort!);
  } catch (error) {
    // The worker died at this moment; the next one is asked.
    if (error instanceof assert.AssertionError) throw error;
    return undefined;
  } finally {
    socket.destroy();
  }
}

/** The most memory a process ever had, in bytes. */
export function peakMemory(pid: number): number {
  const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) * 1024;
}
