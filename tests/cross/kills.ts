/** A command, killed at every step: before each request that the service would hear, and after each that it has answered. */
import assert from 'node:assert/strict';
import type { Between } from './between.ts';
import type { Device, Outcome } from './device.ts';

/** Killed when the service is about to hear its `step`th request (even), or has answered it (odd). Undefined, unless it was over before. */
export async function killedAt(
  between: Between,
  step: number,
  args: string[],
  device: Device,
  env: Record<string, string> = {},
): Promise<Outcome | undefined> {
  let at = 0;
  let done = false;
  const running = device.start(args, { env });
  const count = (_path: string, body: Buffer) => {
    if (at++ === step) {
      done = true;
      running.child.kill('SIGKILL');
    }
    if (done) throw new Error('cut');
    return body;
  };
  between.outward = count;
  between.inward = count;
  const outcome = await running.ended;
  between.outward = (_path, body) => body;
  between.inward = (_path, body) => body;
  assert.equal(outcome.signal, done ? 'SIGKILL' : null);
  return done ? undefined : outcome;
}

/** `work`: whether there may be another step. */
export async function everyStep(work: (step: number) => Promise<boolean>): Promise<void> {
  let step = 0;
  while (await work(step)) step++;
  assert.ok(step > 5, `${step} steps`);
}

export const isDone = (outcome: Outcome) => assert.equal(outcome.code, 0, outcome.stdout + outcome.stderr);
