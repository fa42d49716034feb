/** What SZ_MIN_FREE says stays free, also when many write at once. */
import assert from 'node:assert/strict';
import { rm, statfs, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import { Disk, MountedService } from '../faults/mounts.ts';
import { openFilesOf, workersOf } from '../faults/processes.ts';
import {
  type Answer,
  assertError,
  assertOk,
  begin,
  complete,
  eventually,
  filesBelow,
  headOf,
  type MadeFile,
  makeDir,
  makeFile,
  type PullRequest,
  PullServer,
  putVolume,
  RawConnection,
  register,
  type User,
  upload,
} from '../harness/index.ts';

const MIB = 1024 * 1024;
const DISK = 68 * MIB;
const MIN_FREE = 20 * MIB;
/** For the database and its log, which grow too. */
const MARGIN = 6 * MIB;
let disk: Disk;
let service: MountedService;
let user: User;

before(async () => {
  disk = await Disk.create('tmpfs', DISK);
  service = new MountedService(disk, {
    env: { SZ_MIN_FREE: String(MIN_FREE), SZ_SWEEP_INTERVAL: '1', SZ_WORKERS: '2' },
  });
  await service.start();
  user = await register(service);
});
after(async () => {
  await service.stop();
  await disk[Symbol.asyncDispose]();
});

async function free(): Promise<number> {
  const { bavail, bsize } = await statfs(disk.path);
  return bavail * bsize;
}

/** What was deleted before is gone from the disk. */
const allFree = () => eventually(async () => assert.ok((await free()) > DISK - MARGIN));

/** Volumes whose bodies begin and then wait, each with its transfer. */
async function hold(count: number, file: MadeFile, sent = 1) {
  const [bytes] = file.volumes;
  const go = Promise.withResolvers<void>();
  async function* slowly() {
    yield bytes!.subarray(0, sent);
    await go.promise;
    yield bytes!.subarray(sent);
  }
  const headers = { 'content-length': String(bytes!.length) };
  const held = await Promise.all(
    Array.from({ length: count }, async () => {
      const transferId = await begin(user, file);
      const answer = putVolume(user, transferId, 1, slowly(), headers);
      const status = { now: 0 };
      answer.then(
        (found) => {
          status.now = found.status;
        },
        () => {
          status.now = -1;
        },
      );
      return { transferId, answer, status };
    }),
  );
  return { held, go: () => go.resolve() };
}

/** Holds bodies until what they sent is on the disk. A busy worker may return its space too late: then they are sent again. */
async function holdOnDisk(
  count: number,
  file: MadeFile,
  sent: number,
): Promise<Awaited<ReturnType<typeof hold>>> {
  for (let tries = 0; tries < 10; tries++) {
    const bodies = await hold(count, file, sent);
    const isRefused = await eventually(async () => {
      const sizes = [...(await filesBelow(join(service.data, 'tmp'))).values()];
      const isRefused = bodies.held.some(({ status }) => status.now !== 0);
      assert.ok(isRefused || sizes.filter((size) => size >= sent - 2 * MIB).length === count);
      return isRefused;
    });
    if (!isRefused) return bodies;
    bodies.go();
    await removeAll(bodies.held);
    await allFree();
  }
  throw new Error('the bodies were refused each time');
}

async function removeAll(answers: { transferId: string; answer: Promise<Answer> }[]): Promise<void> {
  for (const { transferId, answer } of answers) {
    if ((await answer).status !== 200) await user.delete(pathOf('cancel', { transfer_id: transferId }));
    else {
      const fileId = String((await complete(user, transferId)).json['file_id']);
      assertOk(await user.delete(pathOf('deleteFile', { file_id: fileId })));
    }
  }
}

/** Nothing of a refused body is left. */
const allClean = () =>
  eventually(async () => assert.equal((await filesBelow(join(service.data, 'tmp'))).size, 0));

test('uploads that begin and send nothing keep nobody else out', async () => {
  const other = await register(service);
  const { held, go } = await hold(12, makeFile([20 * MIB]));
  await eventually(async () => assert.equal((await filesBelow(join(service.data, 'tmp'))).size, 12));
  for (const size of [100_000, 10 * MIB]) {
    const { fileId } = await upload(other, makeFile([size]));
    assertOk(await other.delete(pathOf('deleteFile', { file_id: fileId })));
  }
  go();
  await removeAll(held);
  await allClean();
});

test('eight uploads at once take what there is and no more; those that do not fit get 507, and leave nothing', async () => {
  await allFree();
  const file = makeFile([10 * MIB]);
  const { held, go } = await hold(8, file);
  go();
  const answers = await Promise.all(held.map(({ answer }) => answer));
  for (const answer of answers) if (answer.status !== 200) assertError(answer, 507);
  // About 43 MiB may be taken.
  const stored = answers.filter(({ status }) => status === 200).length;
  assert.ok(stored >= 1 && stored <= 4, `${stored} were stored`);
  assert.ok((await free()) > MIN_FREE - MARGIN, `${await free()} bytes are left`);
  await allClean();
  await removeAll(held);
});

test('of one volume only a few bodies are under way at a time, whoever sends them', async () => {
  await allFree();
  const file = makeFile([3 * MIB]);
  const transferId = await begin(user, file);
  const path = pathOf('writeVolume', { transfer_id: transferId, idx: 1 });
  await using connections = new AsyncDisposableStack();
  const statuses: (number | undefined)[] = [];
  for (let at = 0; at < 6; at++) {
    const connection = await RawConnection.open(service.url);
    connections.defer(() => connection.destroy());
    connection.write(`${headOf(path, 3 * MIB, user.token, ['Expect: 100-continue'])}\r\n\r\n`);
    statuses.push((await connection.until((answer) => answer.statuses.length > 0)).statuses[0]);
  }
  // Of two workers, each takes two.
  assert.deepEqual(statuses.sort(), [100, 100, 100, 100, 429, 429]);
  await connections.disposeAsync();
  await eventually(async () => assertOk(await putVolume(user, transferId, 1, file.volumes[0]!)));
  assertOk(await user.delete(pathOf('cancel', { transfer_id: transferId })));
});

test('six clones at once take what there is and no more', async () => {
  await allFree();
  const { fileId } = await upload(user, makeFile([8 * MIB]));
  const dirs = await Promise.all(Array.from({ length: 6 }, () => makeDir(user)));
  const answers = await Promise.all(
    dirs.map((dirId) => user.post(pathOf('cloneFile', { file_id: fileId }), { dir_id: dirId })),
  );
  for (const answer of answers) if (answer.status !== 200) assertError(answer, 507);
  const made = answers.filter(({ status }) => status === 200);
  // A copy that is only just on the disk counts twice until it is told: one fewer than fits is right too.
  assert.ok(made.length >= 3 && made.length <= 4, `${made.length} clones`);
  assert.ok((await free()) > MIN_FREE - MARGIN, `${await free()} bytes are left`);
  for (const id of [fileId, ...made.map((answer) => String(answer.json['file_id']))]) {
    assertOk(await user.delete(pathOf('deleteFile', { file_id: id })));
  }
});

test('a pull that goes on needs room for what is missing, not for what has landed', async () => {
  await allFree();
  const file = makeFile([9 * MIB, 9 * MIB]);
  const transferId = await begin(user, file);
  let isWhole = false;
  const answer = ({ idx }: PullRequest, response: ServerResponse) => {
    const fails = idx === 2 && !isWhole;
    if (fails) response.writeHead(404).end();
    return fails;
  };
  await using source = await new PullServer(file, { answer }).listen();
  const pull = () =>
    user.post(pathOf('pull', { transfer_id: transferId }), { base_url: source.url, token: 'x' });
  assertError(await pull(), 409);
  isWhole = true;
  // 9 MiB are missing, and 18 are copied into the store: less than 31, while the whole file would need 36.
  const filler = join(disk.path, 'filler');
  await writeFile(filler, Buffer.alloc((await free()) - MIN_FREE - 31 * MIB));
  assertOk(await pull());
  await rm(filler);
  const fileId = String((await complete(user, transferId)).json['file_id']);
  assertOk(await user.delete(pathOf('deleteFile', { file_id: fileId })));
});

test('what a worker that dies had reserved is free again', async () => {
  await allFree();
  const file = makeFile([18 * MIB]);
  const third = await begin(user, file);
  // All but the last byte: it is on the disk, or reserved.
  const { held, go } = await holdOnDisk(2, file, 18 * MIB - 1);
  const attempt = () => putVolume(user, third, 1, file.volumes[0]!);
  await eventually(async () => assertError(await attempt(), 507));
  // The other one goes on: without any worker the service would come back on another port.
  const [pid] = workersOf(service).filter(
    (worker) => openFilesOf(worker, join(service.data, 'tmp')).length > 0,
  );
  process.kill(pid!, 'SIGKILL');
  await eventually(async () => assertOk(await attempt()));
  go();
  await Promise.allSettled(held.map(({ answer }) => answer));
});
