import assert from 'node:assert/strict';
import { type FileRecord, pathOf } from '@szafa/protocol';
import {
  type Answer,
  answersIn,
  type Batched,
  batched,
  checkInvariants,
  complete,
  type MadeFile,
  makeDir,
  makeFile,
  newTransferId,
  PullServer,
  putFile,
  putFiles,
  putVolume,
  readVolume,
  received,
  register,
  type Service,
  type User,
} from '../harness/index.ts';

export const KINDS = [
  'init',
  'put',
  'complete',
  'file',
  'files',
  'pull',
  'cancel',
  'read',
  'list',
  'clone',
  'move',
  'delete',
] as const;
export type Kind = (typeof KINDS)[number];

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
  | ({ kind: 'put' | 'complete' | 'pull' } & Upload)
  | { kind: 'file'; transferId: string; file: MadeFile }
  | { kind: 'files'; files: Batched[] }
  | { kind: 'cancel'; transferId: string }
  | { kind: 'init' | 'read' | 'list' }
  | { kind: 'clone'; of: Kept; dirId: number | null }
  | { kind: 'delete'; fileId: string }
  | { kind: 'move'; fileId: string; dirId: number | null };

/** The answer did not come because the service, or its worker, died. */
export class Cut extends Error {}

const SMALL = [3000];
const SIZES = [[700, 150_000], SMALL, [1_200_000, 0, 4097]];
const MOST_KEPT = 5;

/**
 * Someone who uploads, reads, clones, moves and deletes without pause and writes down what was acknowledged, so that
 * it can be held against the service after a crash.
 */
export class Actor {
  readonly user: User;
  readonly kept = new Map<string, Kept>();
  /** Requests that were cut off. */
  readonly counts: Partial<Record<Kind, number>> = {};
  readonly #dirs: (number | null)[];
  readonly #random: () => number;
  readonly #host: string;
  #open: Open | undefined;

  private constructor(user: User, dirs: (number | null)[], random: () => number, host: string) {
    this.user = user;
    this.#dirs = dirs;
    this.#random = random;
    this.#host = host;
  }

  /** `host` is where the service finds what it is to pull. */
  static async create(service: Service, random: () => number, host = '127.0.0.1'): Promise<Actor> {
    const user = await register(service);
    return new Actor(user, [null, await makeDir(user), await makeDir(user)], random, host);
  }

  /** Works until the service goes away or `stop` says so; mostly on what is wanted, where something is. */
  async work(stop: AbortSignal, wanted?: Kind): Promise<void> {
    try {
      while (!stop.aborted) await this.#step(wanted);
    } catch (error) {
      if (!(error instanceof Cut)) throw error;
    }
  }

  async #step(wanted: Kind | undefined): Promise<void> {
    const [oldest] = this.kept.keys();
    if (oldest !== undefined && this.kept.size > MOST_KEPT) return this.#remove(oldest);
    const kind = wanted && this.#random() < 0.75 ? wanted : this.#pick(KINDS);
    if (kind === 'init' || kind === 'cancel') return this.#giveUp();
    if (kind === 'file') return this.#sendFile(newTransferId(), this.#made(SMALL));
    if (kind === 'files') return this.#sendFiles([1, 2, 3, 4].map(() => batched(this.#made(SMALL))));
    if (kind === 'pull') return this.#pull();
    if (kind === 'list') return this.#list();
    const fileId = oldest && this.#pick([...this.kept.keys()]);
    if (kind === 'complete') return this.#upload(SMALL);
    if (kind === 'put' || fileId === undefined) return this.#upload();
    if (kind === 'read') return this.#read(fileId);
    if (kind === 'clone') return this.#clone(fileId);
    if (kind === 'move') return this.#move(fileId);
    return this.#remove(fileId);
  }

  #pick<T>(list: readonly T[]): T {
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

  #made(sizes = this.#pick(SIZES)): MadeFile {
    return makeFile(sizes, { dir_id: this.#pick(this.#dirs) });
  }

  #keep({ status, text, json }: Answer, file: MadeFile): void {
    assert.equal(status, 200, text);
    this.#note(String(json['file_id']), file);
  }

  #note(fileId: string, file: MadeFile): void {
    this.kept.set(fileId, { file, dirId: file.init.dir_id ?? null });
  }

  async #begin(file: MadeFile): Promise<string> {
    const begun = await this.#ask({ kind: 'init' }, () => this.user.post(pathOf('init'), file.init));
    assert.equal(begun.status, 200, begun.text);
    return String(begun.json['transfer_id']);
  }

  async #upload(sizes?: number[]): Promise<void> {
    const file = this.#made(sizes);
    await this.#finish(await this.#begin(file), file, new Set());
  }

  async #finish(transferId: string, file: MadeFile, acknowledged: Set<number>): Promise<void> {
    const state = { transferId, file, acknowledged };
    for (const [at, body] of file.volumes.entries()) {
      const idx = at + 1;
      if (acknowledged.has(idx)) continue;
      const put = await this.#ask({ kind: 'put', ...state }, () =>
        putVolume(this.user, transferId, idx, body),
      );
      assert.equal(put.status, 200, put.text);
      acknowledged.add(idx);
    }
    const done = await this.#ask({ kind: 'complete', ...state }, () => complete(this.user, transferId));
    this.#keep(done, file);
  }

  async #pull(): Promise<void> {
    const file = this.#made();
    const transferId = await this.#begin(file);
    const all = new Set(file.volumes.keys().map((at) => at + 1));
    await using server = await new PullServer(file, { host: this.#host }).listen();
    const source = { base_url: server.url, token: 'one-time-pull-token' };
    const pulled = await this.#ask({ kind: 'pull', transferId, file, acknowledged: new Set() }, () =>
      this.user.post(pathOf('pull', { transfer_id: transferId }), source),
    );
    assert.deepEqual(pulled.json, { ok: true, pulled: all.size, total: all.size }, pulled.text);
    await this.#finish(transferId, file, all);
  }

  /** All in one request. Whoever repeats it gets the same file. */
  async #sendFile(transferId: string, file: MadeFile): Promise<void> {
    const done = await this.#ask({ kind: 'file', transferId, file }, () =>
      putFile(this.user, transferId, file),
    );
    this.#keep(done, file);
  }

  /** The same of several. */
  async #sendFiles(files: Batched[]): Promise<void> {
    const answer = await this.#ask({ kind: 'files', files }, () => putFiles(this.user, files));
    assert.equal(answer.status, 200, answer.text);
    for (const [at, { file_id }] of answersIn(answer).entries()) this.#note(file_id!, files[at]!.file);
  }

  async #giveUp(): Promise<void> {
    const transferId = await this.#begin(this.#made(SMALL));
    assert.equal(await this.#cancel(transferId), 200);
  }

  async #cancel(transferId: string): Promise<number> {
    const answer = await this.#ask({ kind: 'cancel', transferId }, () =>
      this.user.delete(pathOf('cancel', { transfer_id: transferId })),
    );
    return answer.status;
  }

  async #read(fileId: string): Promise<void> {
    const { volumes } = this.kept.get(fileId)!.file;
    const at = Math.floor(this.#random() * volumes.length);
    const answer = await this.#ask({ kind: 'read' }, () => readVolume(this.user, fileId, at + 1));
    assert.equal(answer.status, 200, answer.excerpt);
    assert.ok(answer.body.equals(volumes[at]!), `volume ${at + 1} of ${fileId} has other bytes`);
  }

  async #list(): Promise<void> {
    const answer = await this.#ask({ kind: 'list' }, () => this.user.get(pathOf('listFiles')));
    assert.equal(answer.status, 200, answer.text);
    this.#compare(answer.json['files'] as FileRecord[], 'in a list');
  }

  async #clone(fileId: string): Promise<void> {
    const of = this.kept.get(fileId)!;
    const dirId = this.#pick(this.#dirs);
    const answer = await this.#ask({ kind: 'clone', of, dirId }, () =>
      this.user.post(pathOf('cloneFile', { file_id: fileId }), { dir_id: dirId }),
    );
    if (answer.status === 409) {
      assert.match(answer.text, /this directory already has a clone of this file/);
      return;
    }
    assert.equal(answer.status, 200, answer.text);
    this.kept.set(String(answer.json['file_id']), { file: of.file, dirId });
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

  /**
   * After a crash: all that was acknowledged is there, the open operation has happened wholly or not at all, and the
   * invariants hold.
   */
  async reconcile(): Promise<void> {
    const open = this.#open;
    if (open?.kind === 'put' || open?.kind === 'complete' || open?.kind === 'pull') await this.#resume(open);
    if (open?.kind === 'file') await this.#sendFile(open.transferId, open.file);
    if (open?.kind === 'files') await this.#sendFiles(open.files);
    if (open?.kind === 'cancel') assert.ok([200, 404].includes(await this.#cancel(open.transferId)));
    const listed = await checkInvariants(this.user.service, this.user.token);
    this.#settle(open, new Map(listed.map((record) => [record.file_id, record])));
    this.#open = undefined;
    this.#compare(listed, `after ${open?.kind}`);
  }

  /** That these are the files that are kept, of the same bytes, in the same directories. */
  #compare(listed: FileRecord[], when: string): void {
    const facts = listed.map(({ file_id, dir_id, sha256 }) => [file_id, dir_id, sha256]);
    const kept = [...this.kept].map(([id, { file, dirId }]) => [id, dirId, file.init.total_sha256]);
    assert.deepEqual(facts.sort(), kept.sort(), when);
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

/** How often requests of each kind were cut off. */
export function cutOff(actors: Actor[]): Record<Kind, number> {
  const sum = (kind: Kind) => actors.reduce((total, { counts }) => total + (counts[kind] ?? 0), 0);
  return Object.fromEntries(KINDS.map((kind) => [kind, sum(kind)])) as Record<Kind, number>;
}

/** One of the kinds that were cut off the least: who works on it brings it to its turn. */
export function rarest(actors: Actor[], random: () => number): Kind {
  const counts = cutOff(actors);
  const least = Math.min(...Object.values(counts));
  const rare = KINDS.filter((kind) => counts[kind] === least);
  return rare[Math.floor(random() * rare.length)]!;
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
