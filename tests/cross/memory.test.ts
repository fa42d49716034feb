/** How much memory the command takes, whatever the size of what it uploads and downloads. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdir, open, rm, truncate, writeFile } from 'node:fs/promises';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { useService, usually } from '../harness/index.ts';
import { useDevice } from './account.ts';
import type { Running } from './device.ts';
import { packedCommand } from './packed.ts';

const MIB = 1024 * 1024;
const MOST_BYTES = 250e6;
const limitMs = usually(180_000, 600_000);
/** In MiB: of these, memory for the small ones must not become memory for large ones, one after the other. */
const BACKUPS = [16, 16, 16, 16, 16, 16, 33, 33, 64, 5, 130, 130];

const service = useService();

/** The most that the process ever had, as the system has counted it. */
async function peakOf({ child, ended }: Running): Promise<number> {
  let peak = 0;
  let over = false;
  const end = ended.finally(() => {
    over = true;
  });
  while (!over) {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      peak = Math.max(peak, Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024);
    } catch {
      // It has ended meanwhile.
    }
    await sleep(10);
  }
  const { code, stderr } = await end;
  assert.equal(code, 0, stderr);
  return peak;
}

function assertSmall(t: TestContext, peak: number): void {
  t.diagnostic(`${Math.round(peak / 1e6)} MB`);
  assert.ok(peak > 0 && peak < MOST_BYTES, `${Math.round(peak / 1e6)} MB`);
}

suite('szafa: memory of the command', () => {
  const shared = useDevice(service);

  async function zeros(name: string, bytes: number): Promise<void> {
    await writeFile(shared.device.path(name), '');
    await truncate(shared.device.path(name), bytes);
  }

  test('one large file, and several at once', async (t) => {
    const { device } = shared;
    await zeros('large', usually(256 * MIB, 2048 * MIB));
    assertSmall(t, await peakOf(device.start(['put', 'large'], { limitMs })));
    await mkdir(device.path('several'));
    for (let i = 0; i < 6; i++) await zeros(`several/${i}`, usually(40 * MIB, 200 * MIB));
    assertSmall(t, await peakOf(device.start(['put', 'several', '--transfers', '6'], { limitMs })));
    await device.ok(['rm', '--yes', 'large']);
  });

  test('files of many sizes at once in large volumes, there and back', async (t) => {
    const { device } = shared;
    await mkdir(device.path('backups'));
    for (const [i, size] of BACKUPS.entries()) await zeros(`backups/${i}`, usually(1, 3) * size * MIB);
    const many = ['--transfers', '12'];
    const [put, get] = [
      ['put', 'backups', '--volume-size', '64M', ...many],
      ['get', 'backups', '--output', 'again', ...many],
    ];
    assertSmall(t, await peakOf(device.start(put, { limitMs })));
    assertSmall(t, await peakOf(device.start(get, { limitMs })));
    assertSmall(t, await peakOf(device.start(['check', 'backups'], { limitMs })));
    await rm(device.path('again'), { recursive: true });
    await device.ok(['rm', '-r', '--yes', 'backups']);
  });

  for (const [volumes, more] of [
    ['as usual', []],
    ['as large as those of a long stream', ['--volume-size', '64M']],
  ] as const) {
    test(`standard input, and what became of it, in volumes ${volumes}`, async (t) => {
      const { device } = shared;
      await zeros('input', usually(256 * MIB, 1024 * MIB));
      const input = await open(device.path('input'));
      try {
        const running = device.start(['put', '-', '--name', 'piped', ...more], {
          limitMs,
          stdin: input.createReadStream(),
        });
        assertSmall(t, await peakOf(running));
      } finally {
        await input.close();
      }
      assertSmall(t, await peakOf(device.start(['get', 'piped', '--output', 'again'], { limitMs })));
      await rm(device.path('again'));
      const command = ['sh', '-c', 'exec "$@" >/dev/null', 'sh', process.execPath, packedCommand()];
      assertSmall(t, await peakOf(device.start(['cat', 'piped'], { limitMs, command })));
      await device.ok(['rm', '--yes', 'piped']);
    });
  }
});
