import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { contentDigest, headers, type ListedShare, pathOf } from '@szafa/protocol';
import {
  assertError,
  assertOk,
  assertReadable,
  makeFile,
  register,
  type Service,
  sha256,
  type Uploaded,
  User,
  upload,
} from '../harness/index.ts';

const random = (bytes: number) => randomBytes(bytes).toString('base64url');

/** What an account has beside files and uploads: a file in the trash, thumbnails, and a share whose one download has begun. */
export class Kept {
  readonly user: User;
  readonly thumbnail = randomBytes(500);
  readonly #shareId = random(16);
  readonly #access = random(32);
  readonly #ticket = random(32);
  #open!: Uploaded;
  #trashed!: Uploaded;
  #trashedAt = '';

  private constructor(user: User) {
    this.user = user;
  }

  static async fill(service: Service): Promise<Kept> {
    const kept = new Kept(await register(service));
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
    const [open, trashed] = [this.#open, this.#trashed];
    const shown = (await this.#trash(user)).map(({ file_id, trashed_at }) => [file_id, trashed_at]);
    assert.deepEqual(shown, [[trashed.fileId, this.#trashedAt]]);
    assertError(await user.get(thumbnailOf(trashed.fileId)), 404);
    await assertReadable(user, open.fileId, open.file);
    const size = [open, trashed].reduce((sum, { file }) => sum + file.init.file_size, 0);
    assert.equal((await user.get(pathOf('quota'))).json['used_bytes'], size);
    assertOk(await user.post(pathOf('restoreFiles'), { files: [trashed.fileId] }));
    await assertReadable(user, trashed.fileId, trashed.file);
    for (const { fileId } of [open, trashed])
      assert.ok((await user.get(thumbnailOf(fileId))).body.equals(this.thumbnail));
    assertOk(await user.post(pathOf('trashFiles'), { files: [trashed.fileId] }));
    this.#trashedAt = String((await this.#trash(user))[0]!['trashed_at']);
    const listed = (await user.get(pathOf('listShares'))).json['shares'] as ListedShare[];
    const volume = await this.#read(service);
    if (!shares) {
      assert.deepEqual(listed, []);
      return assertError(volume, 404);
    }
    assert.deepEqual(
      listed.map(({ id, downloaded, missing, ended }) => [id, downloaded, missing, ended]),
      [[this.#shareId, 1, 0, 'used up']],
    );
    assert.ok(volume.body.equals(open.file.volumes[1] as Buffer), volume.excerpt);
  }
}

const thumbnailOf = (file_id: string) => pathOf('readThumbnail', { file_id });
