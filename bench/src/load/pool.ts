import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { LoadError } from './error.ts';
import type { Answer, Outcome, Plan } from './generator.ts';
import type { LoadRequest } from './request.ts';

const generator = fileURLToPath(new URL('generator.ts', import.meta.url));

export interface Load {
  seconds: number;
  latenciesMs: number[];
  /** CPU time of the load processes. */
  cpuSeconds: number;
}

/** The load processes. They use half the cores, so that the servers have the other half. */
export class LoadPool {
  readonly #children: ChildProcess[] = [];

  constructor(size = Math.max(1, Math.floor(availableParallelism() / 2))) {
    for (let i = 0; i < size; i++) this.#children.push(fork(generator));
  }

  async run(port: number, connections: number, requests: LoadRequest[], stallSeconds = 20): Promise<Load> {
    const used = Math.min(this.#children.length, connections);
    const outcomes = await Promise.all(
      this.#children.slice(0, used).map((child, i) => {
        const share = Math.floor(connections / used) + (i < connections % used ? 1 : 0);
        const mine = requests.filter((_, position) => position % used === i);
        return ask(child, { port, connections: share, requests: mine, stallSeconds });
      }),
    );
    const start = Math.min(...outcomes.map((outcome) => outcome.startNs));
    const end = Math.max(...outcomes.map((outcome) => outcome.endNs));
    return {
      seconds: (end - start) / 1e9,
      latenciesMs: outcomes.flatMap((outcome) => outcome.latenciesMs),
      cpuSeconds: outcomes.reduce((sum, outcome) => sum + outcome.cpuSeconds, 0),
    };
  }

  close(): void {
    for (const child of this.#children) child.kill();
  }
}

async function ask(child: ChildProcess, plan: Plan): Promise<Outcome> {
  const ended = new AbortController();
  const exit = once(child, 'exit', { signal: ended.signal }).then(() => {
    throw new LoadError('a load process ended unexpectedly');
  });
  const message = once(child, 'message', { signal: ended.signal });
  // The promise that loses the race is aborted below; ignore its rejection.
  exit.catch(() => {});
  message.catch(() => {});
  try {
    child.send(plan);
    const [answer] = (await Promise.race([message, exit])) as [Answer];
    if ('failure' in answer) throw new LoadError(answer.failure);
    return answer.outcome;
  } finally {
    ended.abort();
  }
}
