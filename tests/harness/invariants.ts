import assert from 'node:assert/strict';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Directory, type FileRecord, pathOf } from '@szafa/protocol';
import { assertOk } from './expect.ts';
import type { Service } from './service.ts';
import { volumesInFolder } from './stores.ts';
import { assertReadable, listFiles, makeFile, readVolume, sha256, upload } from './upload.ts';
import { admin, sharedUser, User } from './user.ts';

/** With more files than this, `extra_bytes` is not checked, because that takes two requests per file. */
const EXTRA_CHECKED = 200;
/** Files read at the same time. */
const LANES = 4;

/**
 * Asserts what must always be true for an account: every listed file is readable and has the announced digests, the quota is the sum
 * of the sizes, no record is listed twice, and directories count their own files. Works for files from `makeFile` with their real size
 * and digest. Returns the list of files.
 */
export async function checkInvariants(service: Service, token: string): Promise<FileRecord[]> {
  const user = new User(service, '', '', token);
  const files = await listFiles(user);
  assert.equal(new Set(files.map((file) => file.file_id)).size, files.length, 'a record stands twice');
  const queue = files.values();
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      for (const file of queue) await checkBytes(user, file);
    }),
  );
  const quota = await user.get(pathOf('quota'));
  const used = files.reduce((sum, file) => sum + file.size, 0);
  assert.equal(quota.json['used_bytes'], used, 'the quota is not the sum of the sizes');
  if (files.length <= EXTRA_CHECKED) await checkExtra(service, user, files);
  const dirs = (await user.get(pathOf('listDirs'))).json['dirs'] as Directory[];
  for (const dir of dirs) {
    const inside = files.filter((file) => file.dir_id === dir.dir_id);
    assert.equal(dir.file_count, inside.length, `file_count of ${dir.name}`);
    assert.equal(
      dir.size,
      inside.reduce((sum, file) => sum + file.size, 0),
      `size of ${dir.name}`,
    );
  }
  return files;
}

/** Asserts that the operator's `extra_bytes` is the sum of all enc_params and thumbnails. Skips accounts with files in the trash. */
async function checkExtra(service: Service, user: User, files: FileRecord[]): Promise<void> {
  const { username } = (await user.get(pathOf('me'))).json;
  const account = await admin(service).get(pathOf('showAccount', { username: String(username) }));
  // The system token has no account (404), and a load balancer in front of nodes does not have their system token (401).
  if (account.status === 404 || account.status === 401) return;
  const trash = (await user.get(pathOf('listTrash'))).json['files'] as FileRecord[] | undefined;
  if (trash === undefined || trash.length > 0) return;
  let extra = 0;
  for (const { file_id } of files) {
    const { headers } = await user.call('HEAD', pathOf('readHeader', { file_id, idx: 1 }));
    extra += Buffer.from(String(headers['x-enc-params']), 'base64').length;
    const thumbnail = await user.get(pathOf('readThumbnail', { file_id }));
    if (thumbnail.status === 200) extra += thumbnail.body.length;
  }
  assert.equal(account.json['extra_bytes'], extra, 'extra_bytes is not the sum of enc_params and thumbnails');
}

async function checkBytes(user: User, file: FileRecord): Promise<void> {
  const volumes: Buffer[] = [];
  for (let idx = 1; idx <= file.chunk_count; idx++) {
    const answer = await readVolume(user, file.file_id, idx);
    assert.equal(answer.status, 200, `volume ${idx} of ${file.file_id}: ${answer.excerpt}`);
    assert.equal(answer.headers.etag, `"${sha256(answer.body)}"`, `volume ${idx} of ${file.file_id}`);
    volumes.push(answer.body);
  }
  assert.equal(sha256(...volumes), file.sha256, `bytes of ${file.file_id}`);
}

/** Repeats the check until it passes. After the timeout, fails with the error of the check. */
export async function eventually<T>(check: () => Promise<T>, timeoutMs = 60_000): Promise<T> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() >= end) throw error;
      await sleep(50);
    }
  }
}

/** Returns the sizes of all files below a folder, by path. */
export async function filesBelow(folder: string): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  let entries: string[] = [];
  try {
    entries = await readdir(folder, { recursive: true });
  } catch (error) {
    // The folder is created only when it is needed.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  for (const entry of entries) {
    try {
      const facts = await stat(join(folder, entry));
      if (facts.isFile()) found.set(entry, facts.size);
    } catch (error) {
      // The file was removed after it was listed.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return found;
}

/** Asserts that unfinished bodies leave nothing behind: the temp folder becomes empty. */
export async function assertNoLeftovers(service: Service): Promise<void> {
  if (!volumesInFolder()) return;
  await eventually(async () => {
    assert.deepEqual([...(await filesBelow(join(service.data, 'tmp'))).keys()], [], 'left in the temp area');
  });
}

/** Asserts that the service still works after an attack and that nothing is left behind. */
export async function assertUnharmed(service: Service): Promise<void> {
  for (let i = 0; i < 4; i++) assertOk(await service.call({ path: pathOf('healthz') }), { ok: true });
  const user = await sharedUser(service);
  const { fileId, file } = await upload(user, makeFile([2000, 10]));
  await assertReadable(user, fileId, file);
  await assertNoLeftovers(service);
}

/** Counts the files of exactly this size in the data folder. Tests choose a size that no other test uses. */
export async function storedOfSize(service: Service, size: number): Promise<number> {
  return [...(await filesBelow(service.data)).values()].filter((found) => found === size).length;
}
