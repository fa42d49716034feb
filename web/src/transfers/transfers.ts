/** The queue of uploads and downloads of this tab, with the actions on them. */
import { computed, type Signal, signal } from '@preact/signals';
import { displayName } from '@szafa/client';
import { type Item, type UnfinishedUpload, uploadLock } from '../core/bridge/calls.ts';
import type { Fault, Progress } from '../core/bridge/messages.ts';
import { call, faultOf } from '../core/call.ts';
import { notify, notifyError } from '../core/notices.ts';
import { text } from '../core/text/index.ts';
import { lastOf } from '../core/tree.ts';
import { Rate } from './rate.ts';

export type TransferState = 'waiting' | 'running' | 'paused' | 'failed' | 'interrupted' | 'done';

export interface TransferStatus {
  state: TransferState;
  /** Progress was reported since the transfer was started. */
  moving: boolean;
  done: number;
  rate: number;
  fault?: Fault;
}

export interface Transfer {
  id: string;
  kind: 'upload' | 'download';
  name: string;
  size: number;
  status: Signal<TransferStatus>;
  rate: Rate;
  /** Bytes of an upload that the server has. The upload resumes from there. */
  stored: number;
  note?: UnfinishedUpload;
  file?: File;
  run(): Promise<unknown>;
  /** Number of starts: an attempt that ends late must not change the status of the next one. */
  turn?: number;
}

/** Maximum number of running uploads, and of running downloads. */
const AT_ONCE = 3;
const SETTLE_MS = 400;

export const transfers = signal<Transfer[]>([]);
export const active = computed(() =>
  transfers.value.filter(({ status }) => ['waiting', 'running'].includes(status.value.state)),
);

/** Changes at each sign-out, so that transfers requested before it are not added after it. */
export let generation = 0;

export function clearTransfers(): void {
  generation++;
  transfers.value = [];
}

export function onProgress({ id, done, stored }: Progress): void {
  const transfer = transfers.peek().find((one) => one.id === id);
  if (!transfer) return;
  if (stored !== undefined) transfer.stored = stored;
  const { state } = transfer.status.peek();
  if (state === 'running') set(transfer, { moving: true, done, rate: transfer.rate.mark(done) });
  if (state === 'paused') set(transfer, { done: transfer.stored });
}

function set(transfer: Transfer, change: Partial<TransferStatus>): void {
  transfer.status.value = { ...transfer.status.peek(), ...change };
}

function add(added: Transfer[]): void {
  // A new batch clears the finished transfers of the previous one.
  if (active.peek().length === 0) clearFinished();
  transfers.value = [...added, ...transfers.value];
  schedule();
}

export function addDownload(
  { name, size }: Pick<Item, 'name' | 'size'>,
  run: (id: string) => Promise<unknown>,
): void {
  const id = crypto.randomUUID();
  const status = fresh('waiting');
  add([{ id, kind: 'download', name, size, status, rate: new Rate(), stored: 0, run: () => run(id) }]);
}

function fresh(state: TransferState): Signal<TransferStatus> {
  return signal<TransferStatus>({ state, moving: false, done: 0, rate: 0 });
}

/** Starts waiting transfers, oldest first. */
function schedule(): void {
  const all = transfers.peek().toReversed();
  for (const kind of ['upload', 'download'] as const) {
    const mine = all.filter((transfer) => transfer.kind === kind);
    let running = mine.filter(({ status }) => status.peek().state === 'running').length;
    for (const transfer of mine) {
      if (running >= AT_ONCE) break;
      if (transfer.status.peek().state !== 'waiting') continue;
      running++;
      void run(transfer);
    }
  }
}

async function run(transfer: Transfer): Promise<void> {
  transfer.rate.clear();
  const turn = (transfer.turn ?? 0) + 1;
  transfer.turn = turn;
  const { fault: _, ...status } = transfer.status.peek();
  transfer.status.value = { ...status, state: 'running', moving: false, done: transfer.stored, rate: 0 };
  try {
    await transfer.run();
    set(transfer, { state: 'done', done: transfer.size });
    if (transfer.kind === 'upload') settled();
  } catch (error) {
    const fault = faultOf(error);
    if (transfer.turn !== turn) return;
    if (fault.code === 'stopped') {
      if (transfer.status.peek().state === 'running')
        set(transfer, { state: 'paused', done: transfer.stored });
    } else {
      set(transfer, { state: 'failed', done: transfer.stored, fault });
    }
  }
  schedule();
}

let uploaded = () => {};

/** Sets the function that is called after uploads have finished. */
export function onUploaded(act: () => void): void {
  uploaded = act;
}

let settling: ReturnType<typeof setTimeout> | undefined;

/** Delays the call, so that the list is read once and not after each of a thousand small files. */
function settled(): void {
  if (settling !== undefined) return;
  settling = setTimeout(() => {
    settling = undefined;
    uploaded();
  }, SETTLE_MS);
}

function newUpload(note: UnfinishedUpload, file: File | undefined): Transfer {
  let isUploaded = false;
  const transfer: Transfer = {
    id: note.id,
    kind: 'upload',
    name: displayName(lastOf(note.path)),
    size: note.size,
    status: fresh(file ? 'waiting' : 'interrupted'),
    rate: new Rate(),
    stored: 0,
    note,
    ...(file && { file }),
    // The lock tells other tabs, and this one after a reload, that a tab is running this upload.
    run: () =>
      navigator.locks.request(uploadLock(note.id), async () => {
        // A second attempt waits for the lock of the first, which may have succeeded by then.
        if (!isUploaded) await call('upload', note, transfer.file!);
        isUploaded = true;
      }),
  };
  return transfer;
}

export interface ChosenFile {
  file: File;
  /** File name, preceded by the folders that were chosen with it. */
  name: string;
  handle?: FileSystemFileHandle;
}

/** Adds uploads to the queue. `path` is the target path in the account. */
export async function upload(username: string, chosen: (ChosenFile & { path: string })[]): Promise<void> {
  const added = chosen.map(({ file, path, handle }) => {
    const { size, lastModified, name: fileName } = file;
    const id = crypto.randomUUID();
    const note = { id, username, path, size, lastModified, fileName, ...(handle && { handle }) };
    return newUpload(note, file);
  });
  const before = generation;
  // Store the notes before any upload starts: a small file could finish, and delete its note, before it was stored.
  await call(
    'storeUploads',
    added.map(({ note }) => note!),
  );
  if (before === generation) add(added.reverse());
}

export function pause(transfer: Transfer): void {
  const { state } = transfer.status.peek();
  if (state === 'running') void call('stop', transfer.id);
  if (state === 'running' || state === 'waiting')
    set(transfer, { state: 'paused', done: transfer.stored, rate: 0 });
}

export function resume(transfer: Transfer): void {
  set(transfer, { state: 'waiting' });
  schedule();
}

/** Resumes uploads that failed because there was no connection. */
export function resumeAfterReconnect(): void {
  for (const transfer of transfers.peek()) {
    const { state, fault } = transfer.status.peek();
    if (transfer.kind === 'upload' && state === 'failed' && fault?.code === 'network') resume(transfer);
  }
}

export function dismiss(transfer: Transfer): void {
  transfers.value = transfers.value.filter((one) => one !== transfer);
}

export async function cancel(transfer: Transfer): Promise<void> {
  const { state } = transfer.status.peek();
  dismiss(transfer);
  if (state === 'done') return;
  if (state === 'running') await call('stop', transfer.id);
  schedule();
  if (!transfer.note) return;
  try {
    // An upload that is being stopped still writes its journal, and releases its lock when it has ended.
    await navigator.locks.request(uploadLock(transfer.id), () => call('cancelUpload', transfer.note!));
  } catch (error) {
    notifyError(error);
  }
}

export function clearFinished(): void {
  transfers.value = transfers.value.filter(({ status }) => status.value.state !== 'done');
}

/** Adds the uploads that were interrupted by a reload, a crash or a closed tab. */
export async function restoreUploads(username: string): Promise<void> {
  const before = generation;
  const notes = await call('storedUploads');
  const { held = [] } = await navigator.locks.query();
  if (before !== generation) return;
  const busy = new Set([
    ...held.map((lock) => lock.name),
    ...transfers.peek().map(({ id }) => uploadLock(id)),
  ]);
  const left = notes.filter((note) => note.username === username && !busy.has(uploadLock(note.id)));
  if (left.length === 0) return;
  const added = left.map((note) => newUpload(note, undefined));
  add(added);
  for (const transfer of added) await showProgress(transfer);
}

/** Asks the server how much of an interrupted upload it has. */
async function showProgress(transfer: Transfer): Promise<void> {
  try {
    const stored = await call('storedBytes', transfer.note!);
    if (transfer.status.peek().state !== 'interrupted') return;
    transfer.stored = stored;
    set(transfer, { done: stored });
  } catch {
    // Ignored: the progress shows when the upload resumes.
  }
}

/** Resumes interrupted uploads of these files, and returns the files used. */
export function resumeWithFiles(chosen: readonly { file: File; path?: string }[]): Set<File> {
  const joined = new Set<File>();
  // Match equal paths first, because copies of a file in several folders look alike.
  for (const samePath of [true, false]) {
    for (const transfer of transfers.peek()) {
      const { note, status } = transfer;
      if (!note || status.peek().state !== 'interrupted') continue;
      const found = chosen.find(({ file, path }) => {
        if (joined.has(file) || (samePath && path !== note.path)) return false;
        const { name, size, lastModified } = file;
        return name === note.fileName && size === note.size && lastModified === note.lastModified;
      });
      if (!found) continue;
      joined.add(found.file);
      transfer.file = found.file;
      resume(transfer);
    }
  }
  return joined;
}

/** Resumes interrupted uploads with files that the user chose for that, and reports if none matches. */
export function resumeChosen(files: File[]): void {
  if (resumeWithFiles(files.map((file) => ({ file }))).size === 0) notify(text.transfers.otherFile, true);
}

/** Reopens the file by its handle, if the user allows it. Returns false if the user must choose the file again. */
export async function reopen(transfer: Transfer): Promise<boolean> {
  const handle = transfer.note?.handle as
    | (FileSystemFileHandle & { requestPermission?(o: { mode: 'read' }): Promise<PermissionState> })
    | undefined;
  if (!handle) return false;
  try {
    if (handle.requestPermission && (await handle.requestPermission({ mode: 'read' })) !== 'granted')
      return true;
    resumeChosen([await handle.getFile()]);
  } catch {
    return false; // moved or deleted
  }
  return true;
}
