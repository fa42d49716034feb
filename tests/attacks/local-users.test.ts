import assert from 'node:assert/strict';
import { chmod, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { begin, makeFile, putVolume, register, Service, upload, withService } from '../harness/index.ts';

/** Everything in the data folder that a user other than the service's own may reach, with its mode. */
async function openToOthers(data: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of await readdir(data, { recursive: true })) {
    // What is being written has another name a moment later.
    const { mode } = await stat(join(data, name)).catch(ifGone);
    if ((mode & 0o077) !== 0) found.push(`${name} ${(mode & 0o777).toString(8)}`);
  }
  return found;
}

function ifGone(error: NodeJS.ErrnoException): { mode: number } {
  if (error.code !== 'ENOENT') throw error;
  return { mode: 0 };
}

/** As a shell with the most careless umask starts it. */
const CARELESS = ['sh', '-c', 'umask 000; exec "$@"', 'sh'];

test('nothing that the service makes can be read by another user, whatever umask it is started with', async () => {
  await withService({ within: CARELESS, unset: ['SZ_SYSTEM_TOKEN'] }, async (service) => {
    const user = await register(service);
    await upload(user, makeFile([1000, 10]));
    const pending = makeFile([500, 5]);
    await putVolume(user, await begin(user, pending), 1, pending.volumes[0]!);
    assert.deepEqual(await openToOthers(service.data), []);
  });
});

test('what an earlier start or a restored backup left open is closed at the start, or told', async () => {
  const service = new Service({ env: { SZ_WORKERS: '1' }, unset: ['SZ_SYSTEM_TOKEN'] });
  try {
    await service.start();
    await service.terminate();
    const ours = await readdir(service.data);
    assert.ok(ours.includes('szafa.db') && ours.includes('volumes'), ours.join(', '));
    for (const name of ours) await chmod(join(service.data, name), 0o777);
    // Not ours: it may be somebody's for a reason.
    await mkdir(join(service.data, 'lost+found'));
    await chmod(join(service.data, 'lost+found'), 0o755);
    await chmod(service.data, 0o777);
    await service.start();
    const top = (await openToOthers(service.data)).filter((name) => !name.includes('/'));
    assert.deepEqual(top, ['lost+found 755']);
    assert.match(service.log, /SZ_DATA: \S+ is writable by other users/);
    await chmod(service.data, 0o755);
    const told = service.log.length;
    await service.restart();
    assert.doesNotMatch(service.log.slice(told), /other users/);
    await service.stop();
  } finally {
    await service.discard();
  }
});
