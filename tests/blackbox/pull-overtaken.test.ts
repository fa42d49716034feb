import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathOf } from '@szafa/protocol';
import {
  type Answer,
  assertError,
  assertNoLeftovers,
  assertOk,
  assertReadable,
  begin,
  checkInvariants,
  complete,
  eventually,
  listFiles,
  type MadeFile,
  makeFile,
  PullServer,
  putAll,
  register,
  storedOfSize,
  type User,
  useService,
  volumesInFolder,
} from '../harness/index.ts';

/** Rounds of cleaning up come between, and take the landing folder of what is complete or no more. */
const service = useService({ env: { SZ_SWEEP_INTERVAL: '1' } });
const TOKEN = 'one-time-pull-token-0123456789';
const pull = (user: User, transferId: string, base: string): Promise<Answer> =>
  user.post(pathOf('pull', { transfer_id: transferId }), { base_url: base, token: TOKEN });
const landingFolders = () => readdir(join(service.data, 'landing')).catch(() => [] as string[]);
const nothingLanded = () => eventually(async () => assert.deepEqual(await landingFolders(), []));

interface Run {
  user: User;
  file: MadeFile;
  transferId: string;
}

/** What may happen to a transfer while it is pulled, and what the pull then says. */
const ends: Record<string, { run: (of: Run) => Promise<string | undefined>; statuses: number[] }> = {
  completed: {
    async run({ user, transferId }) {
      const done = await complete(user, transferId);
      assertOk(done);
      return String(done.json['file_id']);
    },
    statuses: [200, 409],
  },
  deleted: {
    async run(of) {
      const fileId = await ends['completed']!.run(of);
      assertOk(await of.user.delete(pathOf('deleteFile', { file_id: fileId! })));
      return undefined;
    },
    statuses: [404, 409],
  },
  cancelled: {
    async run({ user, transferId }) {
      assertOk(await user.delete(pathOf('cancel', { transfer_id: transferId })));
      return undefined;
    },
    statuses: [404, 409],
  },
};

/** The file is there whole, or nothing is. */
async function assertSettled({ user, file }: Run, fileId: string | undefined): Promise<void> {
  const files = await listFiles(user);
  assert.deepEqual(
    files.map((found) => found.file_id),
    fileId === undefined ? [] : [fileId],
  );
  if (fileId !== undefined) await assertReadable(user, fileId, file);
  await checkInvariants(service, user.token);
  await nothingLanded();
  await assertNoLeftovers(service);
  if (!volumesInFolder()) return;
  const [first] = file.volumes as [Buffer];
  await eventually(async () => {
    assert.equal(await storedOfSize(service, first.length), fileId === undefined ? 0 : 1);
  });
}

// One after the other: each looks at all landing folders.
describe('a pull that is overtaken', () => {
  let size = 212_121;

  for (const [what, { run, statuses }] of Object.entries(ends)) {
    for (const swept of [false, true]) {
      test(`${what} meanwhile${swept ? ', and swept' : ''}: ${statuses.join(' or ')}, nothing half`, async () => {
        const user = await register(service);
        const file = makeFile([size++, 1000, 3_000_000]);
        const transferId = await begin(user, file);
        const held = Promise.withResolvers<void>();
        const reached = Promise.withResolvers<void>();
        await using server = await new PullServer(file, {
          answer: async ({ idx }) => {
            if (idx !== 2) return false;
            reached.resolve();
            await held.promise;
            return false;
          },
        }).listen();
        const running = pull(user, transferId, server.url);
        await reached.promise;
        // The others have landed.
        await eventually(async () => {
          const status = await user.get(pathOf('pullStatus', { transfer_id: transferId }));
          assert.equal(status.json['pulled'], 2);
        });
        const of = { user, file, transferId };
        if (what !== 'cancelled') await putAll(user, transferId, file);
        const fileId = await run(of);
        if (swept) await nothingLanded();
        held.resolve();
        const answer = await running;
        if (answer.status === 200) assert.equal(answer.json['total'], 3);
        else assertError(answer, ...statuses);
        assert.ok(statuses.includes(answer.status), answer.text);
        await assertSettled(of, fileId);
      });
    }
  }

  test('at any moment, while it records too: never 5xx, nothing half', async () => {
    const user = await register(service);
    const count = 20;
    for (const [round, what] of ['cancelled', 'completed', 'deleted', 'cancelled', 'deleted'].entries()) {
      const file = makeFile(Array.from({ length: count }, () => size++));
      const transferId = await begin(user, file);
      const { run, statuses } = ends[what]!;
      if (what !== 'cancelled') await putAll(user, transferId, file);
      const nearlyAll = Promise.withResolvers<void>();
      await using server = await new PullServer(file, {
        answer: () => {
          if (server.requests.length === count - round) nearlyAll.resolve();
          return false;
        },
      }).listen();
      const running = pull(user, transferId, server.url);
      await nearlyAll.promise;
      await sleep(round * 20);
      const of = { user, file, transferId };
      const fileId = await run(of);
      const answer = await running;
      // 200 also where it had ended before.
      assert.ok([200, ...statuses].includes(answer.status), `${what}: ${answer.text}`);
      await assertSettled(of, fileId);
      if (fileId !== undefined) assertOk(await user.delete(pathOf('deleteFile', { file_id: fileId })));
    }
  });
});
