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
  completeStreamed,
  freshName,
  makeFile,
  putStreamed,
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

/** An account with public keys, which are any text to the service. */
async function person(service: Service): Promise<Person> {
  const [username, password, identity] = [freshName(), random(9), random(129)];
  const json = { username, password, keys: random(50), identity };
  const answer = await service.call({ method: 'POST', path: pathOf('register'), json });
  assertOk(answer);
  return Object.assign(new User(service, username, password, String(answer.json['token'])), { identity });
}

/**
 * What an account has beside files and uploads: a file in the trash, thumbnails, a share whose one download has begun, one with another
 * account, public keys, and a request by which something came.
 */
export class Kept {
  readonly user: Person;
  readonly #friend: Person;
  readonly #toFriend = random(16);
  readonly #letter = random(160);
  readonly #requestId = random(16);
  #delivered!: Uploaded;
  readonly thumbnail = randomBytes(500);
  readonly #shareId = random(16);
  readonly #access = random(32);
  readonly #ticket = random(32);
  #open!: Uploaded;
  #trashed!: Uploaded;
  #trashedAt = '';

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
    this.#trashedAt = String((await this.#trash(user))[0]!['trashed_at']);
    const access = createHash('sha256').update(this.#access).digest('hex');
    const files = [this.#trashed.fileId, this.#open.fileId];
    // Only what is there is shared.
    assertError(await user.post(pathOf('createShare'), { ...this.#share(access), files }), 404);
    const share = { ...this.#share(access), files: files.slice(1) };
    assertOk(await user.post(pathOf('createShare'), share));
    const said = { [headers.shareAccess]: this.#access };
    const path = pathOf('takeTicket', { share_id: this.#shareId });
    assertOk(await service.call({ method: 'POST', path, headers: said, json: { ticket: this.#ticket } }));
    const { access: _, ...plain } = share;
    const to = { username: this.#friend.username, letter: this.#letter };
    assertOk(await user.post(pathOf('createShare'), { ...plain, id: this.#toFriend, to }));
    await this.#deliver(service, access);
  }

  /** By a visitor. */
  async #deliver(service: Service, access: string): Promise<void> {
    const [id, token, file] = [this.#requestId, random(32), makeFile([800])];
    const limits = { max_files: 2, max_bytes: 5000 };
    const request = { id, header: 'aGVhZGVy', own: 'b3du', access, ...limits };
    assertOk(await this.user.post(pathOf('createRequest'), request));
    const chunks = file.init.chunks.map(({ size }) => ({ size }));
    const begun = await service.call({
      ...{ method: 'POST', path: pathOf('beginUpload', { request_id: id }) },
      headers: { [headers.shareAccess]: this.#access },
      json: { upload_token: token, chunk_count: 1, chunks },
    });
    assertOk(begun);
    const [visitor, transferId] = [new User(service, '', '', token), String(begun.json['transfer_id'])];
    assertOk(await putStreamed(visitor, transferId, 1, file.volumes[0]!));
    const done = await completeStreamed(visitor, transferId, file);
    assertOk(done);
    this.#delivered = { fileId: String(done.json['file_id']), transferId, file };
  }

  #share(access: string) {
    return { id: this.#shareId, header: 'aGVhZGVy', own: 'b3du', access, downloads: 1 };
  }

  async #trash(user: User): Promise<Record<string, unknown>[]> {
    return (await user.get(pathOf('listTrash'))).json['files'] as Record<string, unknown>[];
  }

  #read(service: Service) {
    const path = pathOf('readSharedVolume', { share_id: this.#shareId, number: 1, idx: 2 });
    return service.call({ path, headers: { [headers.shareTicket]: this.#ticket } });
  }

  /** As it was. `shares`: they are in the database alone, and a rescue does not bring them back. */
  async assertIn(service: Service, { token = this.user.token, shares = true } = {}): Promise<void> {
    const { username, password } = this.user;
    const user = new User(service, username, password, token);
    const [open, trashed, delivered] = [this.#open, this.#trashed, this.#delivered];
    const shown = (await this.#trash(user)).map(({ file_id, trashed_at }) => [file_id, trashed_at]);
    assert.deepEqual(shown, [[trashed.fileId, this.#trashedAt]]);
    assertError(await user.get(thumbnailOf(trashed.fileId)), 404);
    await assertReadable(user, open.fileId, open.file);
    await assertReadable(user, delivered.fileId, delivered.file);
    const size = [open, trashed, delivered].reduce((sum, { file }) => sum + file.init.file_size, 0);
    assert.equal((await user.get(pathOf('quota'))).json['used_bytes'], size);
    assertOk(await user.post(pathOf('restoreFiles'), { files: [trashed.fileId] }));
    await assertReadable(user, trashed.fileId, trashed.file);
    for (const { fileId } of [open, trashed])
      assert.ok((await user.get(thumbnailOf(fileId))).body.equals(this.thumbnail));
    assertOk(await user.post(pathOf('trashFiles'), { files: [trashed.fileId] }));
    this.#trashedAt = String((await this.#trash(user))[0]!['trashed_at']);
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

  /** What others have of it. Names and keys come back in any case: who has compared them must not be asked again. */
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
      shares ? [[this.#requestId, 1, null]] : [],
    );
  }
}

const thumbnailOf = (file_id: string) => pathOf('readThumbnail', { file_id });
