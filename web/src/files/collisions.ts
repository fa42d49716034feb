/** Asks whether to skip, replace or keep both if a path is taken. */
import { signal } from '@preact/signals';
import { freePath } from '../core/tree.ts';
import { tree } from './file-list.ts';

export type Choice = 'skip' | 'replace' | 'both';

export interface Question {
  path: string;
  /** A folder has this path. A file cannot replace it. */
  isFolder: boolean;
  mayReplace: boolean;
  /** Number of further collisions of the same kind. */
  more: number;
  /** An undefined choice cancels the whole operation. */
  answer(choice: Choice | undefined, forAll: boolean): void;
}

export const question = signal<Question | null>(null);

function put(asked: Omit<Question, 'answer'>): Promise<{ choice: Choice | undefined; forAll: boolean }> {
  return new Promise((resolve) => {
    question.value = {
      ...asked,
      answer(choice, forAll) {
        question.value = null;
        resolve({ choice, forAll });
      },
    };
  });
}

export interface Placement<T> {
  what: T;
  path: string;
}

/** Returns a path for each item that is not skipped, or undefined if the user cancels. */
export async function resolveCollisions<T>(
  all: readonly T[],
  pathOf: (what: T) => string,
  mayReplace: boolean,
): Promise<Placement<T>[] | undefined> {
  const isTaken = (path: string) =>
    tree.value.file(path) !== undefined || tree.value.folder(path) !== undefined;
  const given = new Set<string>();
  const settled: Placement<T>[] = [];
  const give = (what: T, path: string) => {
    given.add(path);
    settled.push({ what, path });
  };
  const taken: Placement<T>[] = [];
  for (const what of all) {
    const path = pathOf(what);
    if (isTaken(path)) taken.push({ what, path });
    // Two items of one batch with the same path are different files, not versions of one: rename the second.
    else give(what, given.has(path) ? freePath(tree.value, path, given) : path);
  }
  const forAll: { [kind: string]: Choice } = {};
  for (const [at, { what, path }] of taken.entries()) {
    const isFolder = tree.value.folder(path) !== undefined;
    let choice: Choice | undefined = forAll[String(isFolder)];
    if (choice === undefined) {
      const more = taken.slice(at + 1).filter((one) => !isFolder === !tree.value.folder(one.path)).length;
      const answer = await put({ path, isFolder, mayReplace: mayReplace && !isFolder, more });
      if (answer.choice === undefined) return undefined;
      choice = answer.choice;
      if (answer.forAll) forAll[String(isFolder)] = choice;
    }
    if (choice === 'replace' && !given.has(path)) give(what, path);
    else if (choice !== 'skip') give(what, freePath(tree.value, path, given));
  }
  return settled;
}
