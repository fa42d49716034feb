import { setTimeout as sleep } from 'node:timers/promises';

const ATTEMPTS = 6;
const FIRST_PAUSE_MS = 50;

/** Repeats an attempt after transient errors, with growing random pauses, for at most `ms`. */
export async function retry<T>(
  attempt: () => Promise<T>,
  ms: number,
  isTransient: (error: unknown) => boolean,
): Promise<T> {
  const end = performance.now() + ms;
  for (let attempts = 1, pause = FIRST_PAUSE_MS; ; attempts++, pause *= 2) {
    try {
      return await attempt();
    } catch (error) {
      if (attempts === ATTEMPTS || performance.now() + pause > end || !isTransient(error)) throw error;
    }
    await sleep(pause * (0.5 + Math.random()));
  }
}
