/** Operations on files and folders, such as move and trash. The worker does them and reports progress. */

import { account } from '../accounts/session.ts';
import type { Item, Move } from '../core/bridge/calls.ts';
import type { Progress } from '../core/bridge/messages.ts';
import { call, faultOf } from '../core/call.ts';
import { notify, notifyProgress } from '../core/notices.ts';
import { explain, text } from '../core/text/index.ts';
import { arrivals, foldersBelow, freePath, isWithin, joinPath, lastOf, parentOf } from '../core/tree.ts';
import { resolveCollisions } from './collisions.ts';
import { changed, filesOf, isFolder, items, type Row, tree } from './file-list.ts';
import { clearSelection } from './selection.ts';

/** Progress is shown only for operations that take longer than this. */
const SHOWN_AFTER_MS = 700;

interface Words {
  doing(count: number, all: number): string;
  done(count: number): string;
  failed(why: string): string;
  /** Used if only part of the operation was done. */
  partly?(why: string): string;
  /** Used if the result is unknown because the list could not be read. */
  unsure?(why: string): string;
}

interface More {
  /** Old and new paths of moved folders. */
  moved?: Move[] | undefined;
  undo?: (() => void) | undefined;
  /** Whether the list read after a failure shows anything to undo. */
  undoesPart?: (() => boolean) | undefined;
  /** Returns the number of items done, according to the list read after a failure. */
  arrived?: (() => number) | undefined;
}

const running = new Map<string, (progress: Progress) => void>();

export function onOperationProgress(progress: Progress): void {
  running.get(progress.id)?.(progress);
}

/** Runs an operation, shows its progress and result, and reads the list again. Returns false if it failed. */
async function operate(
  all: number,
  words: Words,
  work: (id: string) => Promise<unknown>,
  { moved = [], undo, undoesPart, arrived }: More = {},
): Promise<boolean> {
  const who = account.peek();
  const id = crypto.randomUUID();
  let notice: ReturnType<typeof notifyProgress> | undefined;
  let said = words.doing(0, all);
  const late = setTimeout(() => {
    notice = notifyProgress(said);
  }, SHOWN_AFTER_MS);
  running.set(id, ({ done, total = all }) => {
    said = words.doing(done, total);
    notice?.change(said);
  });
  let fault: unknown;
  try {
    await work(id);
  } catch (error) {
    fault = error;
  } finally {
    clearTimeout(late);
    running.delete(id);
    notice?.end();
  }
  const isListed = account.peek() === who && (await changed(fault ? [] : moved));
  // The account may have signed out in the meantime.
  if (account.peek() !== who) return false;
  // After a failure, part or all may be done: one of several transactions failed, or only an answer was lost.
  const there = fault && arrived && isListed ? arrived() : 0;
  const isDone = !fault || there === all;
  const back = undo && { label: text.tree.undo, do: undo };
  if (isDone) notify(words.done(all), false, back);
  else {
    const { failed, partly = failed, unsure = failed } = words;
    const say = there > 0 ? partly : isListed ? failed : unsure;
    notify(say(explain(faultOf(fault))), true, isListed && undoesPart?.() ? back : undefined);
  }
  return isDone;
}

const pathOfRow = (row: Row) => (isFolder(row) ? `${row.path}/` : row.path);

/** Returns why a file or folder cannot have this name in this folder, or ''. */
export function nameProblem(folder: string, name: string): string {
  const words = text.names;
  if (name === '') return words.empty;
  if (name.includes('/')) return words.slash;
  if (name === '.' || name === '..') return words.dots;
  const path = joinPath(folder, name);
  if (tree.value.folder(path)) return words.folderTaken;
  return tree.value.file(path) ? words.fileTaken : '';
}

function carryOut(moves: Move[], words: Words, undo: boolean): Promise<boolean> {
  const folders = moves.filter(({ from }) => from.endsWith('/'));
  const moved = folders.map(({ from, to }) => ({ from: from.slice(0, -1), to: to.slice(0, -1) }));
  const isThere = arrivals(tree.peek());
  const back = moves.map((move) => ({ ...move, from: move.to, to: move.from }));
  return operate(moves.length, words, (id) => call('rename', id, moves), {
    moved,
    undo: undo ? () => void carryOut(back, text.move, false) : undefined,
    arrived: () => moves.filter((move) => isThere(tree.peek(), move)).length,
  });
}

const moveOf = (row: Row, to: string): Move =>
  isFolder(row) ? { from: `${row.path}/`, to: `${to}/` } : { from: row.path, to, fileId: row.fileId };

export async function rename(row: Row, name: string): Promise<boolean> {
  return carryOut([moveOf(row, joinPath(parentOf(row.path), name))], text.rename, false);
}

/** Whether the rows can be moved to this folder: at least one is elsewhere, and none would move into itself. */
export function mayMove(rows: readonly Row[], folder: string): boolean {
  return (
    rows.some(({ path }) => parentOf(path) !== folder) &&
    !rows.some((row) => isFolder(row) && isWithin(folder, row.path))
  );
}

export async function move(rows: readonly Row[], folder: string): Promise<void> {
  if (!mayMove(rows, folder)) return;
  const elsewhere = rows.filter(({ path }) => parentOf(path) !== folder);
  const settled = await resolveCollisions(elsewhere, ({ path }) => joinPath(folder, lastOf(path)), false);
  if (!settled || settled.length === 0) return;
  clearSelection();
  await carryOut(
    settled.map(({ what, path }) => moveOf(what, path)),
    text.move,
    true,
  );
}

/** Copies rows into a folder, under a new name if theirs is taken. */
export async function copy(rows: readonly Row[], folder: string): Promise<void> {
  const given = new Set<string>();
  const folders: Move[] = [];
  let empty = 0;
  const copies = rows.flatMap((row) => {
    const to = freePath(tree.value, joinPath(folder, lastOf(row.path)), given);
    given.add(to);
    if (!isFolder(row)) return [{ fileId: row.fileId, path: to }];
    const below = (path: string) => to + path.slice(row.path.length);
    for (const inner of [row, ...foldersBelow(row)]) {
      folders.push({ from: inner.path, to: below(inner.path) });
      if (inner.folders.length + inner.files.length === 0) empty++;
    }
    return filesOf([row]).map(({ fileId, path }) => ({ fileId, path: below(path) }));
  });
  clearSelection();
  await operate(copies.length + empty, text.copy, (id) => call('copy', id, copies, folders));
}

const isGone = (row: Row) =>
  isFolder(row) ? !tree.peek().folder(row.path) : !items.peek().some(({ fileId }) => fileId === row.fileId);

/**
 * Returns the rows with their current paths. While a menu was open, another device may have renamed a file and given its
 * old path to a different one.
 */
function withCurrentNames(rows: readonly Row[]): Row[] {
  const now = new Map(items.peek().map((item) => [item.fileId, item]));
  return rows.flatMap((row) => (isFolder(row) ? row : (now.get(row.fileId) ?? [])));
}

export async function trash(meant: readonly Row[]): Promise<void> {
  const rows = withCurrentNames(meant);
  if (rows.length === 0) return notify(text.tree.gone, true);
  const things = rows.map(pathOfRow);
  let ids: string[] = [];
  const hollow = rows.filter((row) => isFolder(row) && row.count === 0).map(({ path }) => path);
  const undo = () =>
    void operate(ids.length || hollow.length, text.restore, (id) => call('restoreFiles', id, ids, hollow));
  clearSelection();
  await operate(
    rows.length,
    text.trash,
    async (id) => {
      ids = await call('recordsOf', things);
      await call('trash', id, things);
    },
    {
      undo,
      undoesPart: () => [...rows, ...filesOf(rows)].some(isGone),
      arrived: () => rows.filter(isGone).length,
    },
  );
}

const idsOf = (items: readonly Item[]) => items.map(({ fileId }) => fileId);

export async function restore(items: readonly Item[]): Promise<void> {
  clearSelection();
  await operate(items.length, text.restore, (id) => call('restoreFiles', id, idsOf(items)));
}

/** Deletes only the confirmed items: another device may have changed the trash since. */
export async function deleteForever(asked: readonly Item[]): Promise<void> {
  clearSelection();
  await operate(asked.length, text.remove, (id) => call('deleteForever', id, idsOf(asked)));
}

export async function makeFolder(path: string): Promise<void> {
  await call('makeFolder', path);
  await changed();
}
