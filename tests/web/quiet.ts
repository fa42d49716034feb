/** Times that count only where nobody else uses the machine. */
import assert from 'node:assert/strict';
import { cpus } from 'node:os';
import type { TestContext } from 'node:test';
import { slowness } from '../harness/index.ts';

const QUIET_SHARE = 0.75;
/** A machine that nobody else uses meets the goal; beyond this many times the goal somebody would call it slow. */
const HURTS = 2;
const LOOK_MS = 500;

/** How much of the machine nobody uses at this moment, in which nothing is done here. The load of the last minute says too little about now. */
export async function unused(): Promise<number> {
  const look = () => {
    const times = cpus().map((cpu) => cpu.times);
    const idle = times.reduce((sum, one) => sum + one.idle, 0);
    return {
      idle,
      all: times.reduce((sum, one) => sum + one.idle + one.user + one.nice + one.sys + one.irq, 0),
    };
  };
  const before = look();
  await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  const after = look();
  return (after.idle - before.idle) / Math.max(1, after.all - before.all);
}

/** Tells how long it took, beside the goal. Where others use the machine before or after it, a time says nothing about the page, and counts for nothing. */
export async function expectWithin(
  t: TestContext,
  what: string,
  ms: number,
  { goal, before }: { goal: number; before: number },
): Promise<void> {
  const free = Math.min(before, await unused());
  const counts = free >= QUIET_SHARE;
  const limit = HURTS * goal * slowness();
  const judged = counts ? `has to be below ${limit.toFixed(0)}` : 'not judged';
  t.diagnostic(`${what}: ${ms.toFixed(0)} ms (goal ${goal}; ${(free * 100).toFixed(0)} % unused: ${judged})`);
  if (counts) assert.ok(ms < limit, `${what}: ${ms} ms, and the goal is ${goal}`);
}
