import assert from 'node:assert/strict';
import { type FileRecord, pathOf } from '@szafa/protocol';
import {
  type Answer,
  assertReadable,
  listFiles,
  type MadeFile,
  makeDir,
  makeFile,
  received,
  register,
  type Service,
  type User,
} from '../harness/index.ts';

interface Kept {
  file: MadeFile;
  dirId: number | null;
}

interface Upload {
  transferId: string;
  file: MadeFile;
  acknowledged: Set<number>;
}

/** An operation whose answer never came: afterwards it has happened wholly, or not at all. */
type Open =
  | ({ kind: 'put' | 'complete' } & Upload)
  | { kind: 'init' }
  | { kind: 'clone'; of: Kept; dirId: number | null }
  | { kind: 'delete'; fileId: string }
  | { kind: 'move'; fileId: string; dirId: number | null };

/** The answer did not come because the service, or its worker, died. */
export class Cut extends Error {}

const SIZES = [[700, 150_000], [3000], [1_200_000, 0, 4097]];

/**
 * Someone who uploads, clones, moves and deletes without pause and writes down what was acknowledged, so that it
 * can be held against the service after a crash.
 */
export class Actor {
  readonly user: User;
  readonly kept = new Map<string, Kept>();
  readonly counts: Record<string, number> = {};
  readonly #dirs: (number | null)[];
  readonly #random: () => number;
  #open: Open | undefined;

  private constructor(user: User, dirs: (number | null)[], random: () => number) {
    this.user = user;
    this.#dirs = dirs;
    this.#random = random;
  }

  static async create(service: Service, random: () => number): Promise<Actor> {
    const user = await register(service);
    return new Actor(user, [null, await makeDir(user), await makeDir(user)], random);
  }

  /** Works until the service goes away or `stop` says so. */
  async work(stop: AbortSignal): Promise<void> {
    try {
      while (!stop.aborted) await this.#step();
    } catch (error) {
      if (!(error instanceof Cut)) throw error;
    }
  }

  async #step(): Promise<void> {
    const ids = [...this.kept.keys()];
    const fileId = ids[Math.floor(this.#random() * ids.length)];
    const choice = this.#random();
    if (fileId === undefined || choice < 0.4 || ids.length > 5) {
      if (ids.length > 5) return this.#remove(ids[0]!);
      return this.#upload();
    }
    if (choice < 0.6) return this.#remove(fileId);
    if (choice < 0.8) return this.#clone(fileId);
    return this.#move(fileId);
  }

  #pick<T>(list: T[]): T {
    return list[Math.floor(this.#random() * list.length)]!;
  }

  /** A request that may be cut off; what is open stays noted until its answer is here. */
  async #ask(open: Open, call: () => Promise<Answer>): Promise<Answer> {
    this.#open = open;
    let answer: Answer;
    try {
      answer = await call();
    } catch (cause) {
      this.counts[open.kind] = (this.counts[open.kind] ?? 0) + 1;
      throw new Cut(open.kind, { cause });
    }
    this.#open = undefined;
    return answer;
  }

  async #upload(): Promise<void> {
    const dirId = this.#pick(this.#dirs);
    const file = makeFile(this.#pick(SIZES), { dir_id: dirId });
    const begun = await this.#ask({ kind: 'init' }, () => this.user.post(pathOf('init'), file.init));
    assert.equal(begun.status, 200, begun.text);
    await this.#finish(String(begun.json['transfer_id']), file, new Set());
  }

  async #finish(transferId: string, file: MadeFile, acknowledged: Set<number>): Promise<void> {
    const state = { transferId, file, acknowledged };
    for (const [at, body] of file.volumes.entries()) {
      const idx = at + 1;
      if (acknowledged.has(idx)) continue;
      const path = pathOf('writeVolume', { transfer_id: transferId, idx });
      const put = await this.#ask({ kind: 'put', ...state }, () => this.user.call('PUT', path, { body }));
      assert.equal(put.status, 200, put.text);
      acknowledged.add(idx);
    }
    const done = await this.#ask({ kind: 'complete', ...state }, () =>
      this.user.call('POST', pathOf('complete', { transfer_id: transferId })),
    );
    assert.equal(done.status, 200, done.text);
    this.kept.set(String(done.json['file_id']), { file, dirId: file.init.dir_id ?? null });
  }

  async #clone(fileId: string): Promise<void> {
    const of = this.kept.get(fileId)!;
    const dirId = this.#pick(this.#dirs);
    const answer = await this.#ask({ kind: 'clone', of, dirId }, () =>
      this.user.post(pathOf('cloneFile', { file_id: fileId }), { dir_id: dirId }),
    );
    // There may be a clone of this file in that directory already.
    assert.ok(answer.status === 200 || answer.status === 409, answer.text);
    if (answer.status === 200) this.kept.set(String(answer.json['file_id']), { file: of.file, dirId });
  }

  async #remove(fileId: string): Promise<void> {
    const answer = await this.#ask({ kind: 'delete', fileId }, () =>
      this.user.delete(pathOf('deleteFile', { file_id: fileId })),
    );
    assert.equal(answer.status, 200, answer.text);
    this.kept.delete(fileId);
  }

  async #move(fileId: string): Promise<void> {
    const dirId = this.#pick(this.#dirs);
    const answer = await this.#ask({ kind: 'move', fileId, dirId }, () =>
      this.user.put(pathOf('moveFile', { file_id: fileId }), { dir_id: dirId }),
    );
    assert.equal(answer.status, 200, answer.text);
    this.kept.get(fileId)!.dirId = dirId;
  }

  /** After a crash: all that was acknowledged is there, and the open operation has happened wholly or not at all. */
  async reconcile(): Promise<void> {
    const open = this.#open;
    if (open?.kind === 'put' || open?.kind === 'complete') await this.#resume(open);
    const listed = new Map((await listFiles(this.user)).map((record) => [record.file_id, record]));
    this.#settle(open, listed);
    this.#open = undefined;
    assert.deepEqual([...listed.keys()].sort(), [...this.kept.keys()].sort(), `after ${open?.kind}`);
    for (const [fileId, { file, dirId }] of this.kept) {
      assert.equal(listed.get(fileId)!.dir_id, dirId, `directory of ${fileId} after ${open?.kind}`);
      await assertReadable(this.user, fileId, file);
    }
    const quota = await this.user.get(pathOf('quota'));
    const used = [...listed.values()].reduce((sum, { size }) => sum + size, 0);
    assert.equal(quota.json['used_bytes'], used, `the quota is not the sum of the sizes after ${open?.kind}`);
  }

  /** The upload goes on where it was; a complete that had its effect already gives the same file. */
  async #resume({ transferId, file, acknowledged }: Upload): Promise<void> {
    const here = (await received(this.user, transferId)) as number[];
    for (const idx of acknowledged)
      assert.ok(here.includes(idx), `volume ${idx} was acknowledged and is gone`);
    await this.#finish(transferId, file, new Set(here));
  }

  #settle(open: Open | undefined, listed: Map<string, FileRecord>): void {
    const strange = [...listed.keys()].filter((id) => !this.kept.has(id));
    if (open?.kind === 'delete' && !listed.has(open.fileId)) this.kept.delete(open.fileId);
    if (open?.kind === 'move') {
      const kept = this.kept.get(open.fileId)!;
      if (listed.get(open.fileId)?.dir_id === open.dirId) kept.dirId = open.dirId;
    }
    if (open?.kind === 'clone' && strange.length === 1) {
      this.kept.set(strange[0]!, { file: open.of.file, dirId: open.dirId });
    }
  }
}

/** Random numbers that a failing test can show and a later run can repeat. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
