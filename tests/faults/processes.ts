import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
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

/** The worker that serves the connection from this local port; connections are handed over after a moment. */
export async function servingWorker(service: Service, localPort: number): Promise<number> {
  const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0');
  const [ours, theirs] = [hex(Number(new URL(service.url).port)), hex(localPort)];
  for (const end = Date.now() + 5000; Date.now() < end; await sleep(20)) {
    for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)) {
      const [, local = '', remote = '', , , , , , , inode = ''] = line.trim().split(/\s+/);
      if (!local.endsWith(`:${ours}`) || !remote.endsWith(`:${theirs}`)) continue;
      const owner = workersOf(service).find((pid) => socketsOf(pid).has(inode));
      if (owner !== undefined) return owner;
    }
  }
  assert.fail(`no worker serves port ${localPort}`);
}

/** The most memory a process ever had, in bytes. */
export function peakMemory(pid: number): number {
  const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) * 1024;
}
