import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import {
  contentDigest,
  headers,
  type ListedRequest,
  type ListedShare,
  pathOf,
  type ReceivedShare,
} from '@szafa/protocol';
import {
  assertError,
  assertOk,
  assertReadable,
  deliver,
  freshName,
  makeFile,
  type Service,
  sha256,
  type Uploaded,
  User,
  upload,
} from '../harness/index.ts';

const random = (bytes: number) => randomBytes(bytes).toString('base64url');

interface Person extends User {
  identity: string;
}

/** Registers an account with public keys. The server does not check them, so they are random text. */
async function person(service: Service): Promise<Person> {
  const [username, password, identity] = [freshName(), random(9), random(129)];
  const json = { username, password, keys: random(50), identity };
  const answer = await service.call({ method: 'POST', path: pathOf('register'), json });
  assertOk(answer);
  return Object.assign(new User(service, username, password, String(answer.json['token'])), { identity });
}

/**
 * Data of an account besides files and uploads: a file in the trash, thumbnails, a link whose only download has started, a share with
 * another account, public keys, and an open file request with two deliveries, one of them in the trash.
 */
export class Kept {
  readonly user: Person;
  readonly #friend: Person;
  readonly #toFriend = random(16);
  readonly #letter = random(160);
  readonly #requestId = random(16);
  #delivered!: Uploaded;
  #unwanted!: Uploaded;
  readonly thumbnail = randomBytes(500);
  readonly #shareId = random(16);
  readonly #access = random(32);
  readonly #ticket = random(32);
  #open!: Uploaded;
  #trashed!: Uploaded;
  /** IDs and times of the files in the trash. */
  #thrown: [unknown, unknown][] = [];

  private constructor(user: Person, friend: Person) {
    this.user = user;
    this.#friend = friend;
  }

  static async fill(service: Service): Promise<Kept> {
    const kept = new Kept(await person(service), await person(service));
    await kept.#make(service);
    return kept;
  }

  async #make(service: Service): Promise<void> {
    const { user, thumbnail } = this;
    this.#open = await upload(user, makeFile([3000, 10]));
    this.#trashed = await upload(user, makeFile([700]));
    const digest = { [headers.contentDigest]: contentDigest(sha256(thumbnail)) };
    for (const { fileId } of [this.#open, this.#trashed])
      assertOk(await user.call('PUT', thumbnailOf(fileId), { body: thumbnail, headers: digest }));
    assertOk(await user.post(pathOf('trashFiles'), { files: [this.#trashed.fileId] }));
    const access = createHash('sha256').update(this.#access).digest('hex');
    const files = [this.#trashed.fileId, this.#open.fileId];
    // A file in the trash cannot be shared.
    assertError(await user.post(pathOf('createShare'), { ...this.#share(access), files }), 404);
    const share = { ...this.#share(access), files: files.slice(1) };
    assertOk(await user.post(pathOf('createShare'), share));
    const said = { [headers.shareAccess]: this.#access };
    const path = pathOf('takeTicket', { share_id: this.#shareId });
    assertOk(await service.call({ method: 'POST', path, headers: said, json: { ticket: this.#ticket } }));
    const { access: _, ...plain } = share;
    const to = { username: this.#friend.username, letter: this.#letter };
    assertOk(await user.post(pathOf('createShare'), { ...plain, id: this.#toFriend, to }));
    const limits = { max_files: 3, max_bytes: 5000 };
    const request = { id: this.#requestId, header: 'aGVhZGVy', own: 'b3du', access, ...limits };
    assertOk(await user.post(pathOf('createRequest'), request));
    const door = { id: this.#requestId, access: this.#access };
    this.#delivered = await deliver(service, door, makeFile([800]));
    this.#unwanted = await deliver(service, door, makeFile([900]));
    assertOk(await user.post(pathOf('trashFiles'), { files: [this.#unwanted.fileId] }));
    this.#thrown = await this.#trash(user);
    assert.equal(this.#thrown.length, 2);
  }

  #share(access: string) {
    return { id: this.#shareId, header: 'aGVhZGVy', own: 'b3du', access, downloads: 1 };
  }

  async #trash(user: User): Promise<[unknown, unknown][]> {
    const files = (await user.get(pathOf('listTrash'))).json['files'] as Record<string, unknown>[];
    return files.map(({ file_id, trashed_at }): [unknown, unknown] => [file_id, trashed_at]).sort();
  }

  #read(service: Service) {
    const path = pathOf('readSharedVolume', { share_id: this.#shareId, number: 1, idx: 2 });
    return service.call({ path, headers: { [headers.shareTicket]: this.#ticket } });
  }

  /** Asserts that everything is unchanged. `shares` is false after a rescue: shares are only in the database, so they are lost. */
  async assertIn(service: Service, { token = this.user.token, shares = true } = {}): Promise<void> {
    const { username, password } = this.user;
    const user = new User(service, username, password, token);
    const [open, trashed] = [this.#open, this.#trashed];
    const [delivered, unwanted] = [this.#delivered, this.#unwanted];
    assert.deepEqual(await this.#trash(user), this.#thrown);
    assertError(await user.get(thumbnailOf(trashed.fileId)), 404);
    await assertReadable(user, open.fileId, open.file);
    await assertReadable(user, delivered.fileId, delivered.file);
    const size = [open, trashed, delivered, unwanted].reduce((sum, { file }) => sum + file.init.file_size, 0);
    assert.equal((await user.get(pathOf('quota'))).json['used_bytes'], size);
    const files = [trashed.fileId, unwanted.fileId];
    assertOk(await user.post(pathOf('restoreFiles'), { files }));
    for (const { fileId, file } of [trashed, unwanted]) await assertReadable(user, fileId, file);
    for (const { fileId } of [open, trashed])
      assert.ok((await user.get(thumbnailOf(fileId))).body.equals(this.thumbnail));
    assertOk(await user.post(pathOf('trashFiles'), { files }));
    this.#thrown = await this.#trash(user);
    await this.#assertOthers(service, user, shares);
    const listed = (await user.get(pathOf('listShares'))).json['shares'] as ListedShare[];
    const volume = await this.#read(service);
    if (!shares) {
      assert.deepEqual(listed, []);
      return assertError(volume, 404);
    }
    const byLink = listed.filter(({ to }) => to === null);
    assert.deepEqual(
      byLink.map(({ id, downloaded, missing, ended }) => [id, downloaded, missing, ended]),
      [[this.#shareId, 1, 0, 'used up']],
    );
    assert.ok(volume.body.equals(open.file.volumes[1] as Buffer), volume.excerpt);
  }

  /** Checks what other accounts see. Names and public keys always survive: contacts who verified them must not have to do it again. */
  async #assertOthers(service: Service, user: User, shares: boolean): Promise<void> {
    const { username, password, identity } = this.#friend;
    const read = await user.get(pathOf('readIdentity', { username }));
    assertOk(read, { username, identity });
    const login = await service.call({ method: 'POST', path: pathOf('login'), json: { username, password } });
    const friend = new User(service, username, password, String(login.json['token']));
    const received = (await friend.get(pathOf('listReceived'))).json['shares'] as ReceivedShare[];
    const whose = [this.#toFriend, this.user.username, this.user.identity, this.#letter];
    assert.deepEqual(
      received.map(({ id, from, identity: of, letter }) => [id, from, of, letter]),
      shares ? [whose] : [],
    );
    const asked = (await user.get(pathOf('listRequests'))).json['requests'] as ListedRequest[];
    assert.deepEqual(
      asked.map(({ id, delivered, ended }) => [id, delivered, ended]),
      shares ? [[this.#requestId, 2, null]] : [],
    );
    const opened = await service.call({
      path: pathOf('openRequest', { request_id: this.#requestId }),
      headers: { [headers.shareAccess]: this.#access },
    });
    assert.deepEqual([opened.status, opened.json['files_left']], shares ? [200, 1] : [404, undefined]);
  }
}

const thumbnailOf = (file_id: string) => pathOf('readThumbnail', { file_id });
