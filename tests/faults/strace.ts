import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface Injection {
  /** System calls, comma-separated. */
  calls: string;
  /** As strace has it: `error=EIO`, `signal=KILL`, with `:when=N` counted for each thread. */
  fault: string;
  /** Only the main thread, which is where the database is used; otherwise all threads. */
  mainThread?: boolean;
}

/** Holds processes under strace, which makes their system calls fail as told, until it is released. */
export class Tracer {
  readonly #release: () => Promise<void>;

  private constructor(release: () => Promise<void>) {
    this.#release = release;
  }

  static async attach(pids: number[], { calls, fault, mainThread = false }: Injection): Promise<Tracer> {
    const args = [
      ...(mainThread ? [] : ['-f']),
      ...['-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${calls}:${fault}`],
      ...pids.flatMap((pid) => ['-p', String(pid)]),
    ];
    const strace = spawn('strace', args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const ended = once(strace, 'close');
    let said = '';
    await new Promise<void>((resolve, reject) => {
      strace.once('error', (error) => reject(new Error(`the tests of faults need strace: ${error.message}`)));
      strace.once('close', () => reject(new Error(`strace could not attach: ${said}`)));
      strace.stderr.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        if ((said.match(/ attached/g) ?? []).length >= pids.length) resolve();
      });
    });
    return new Tracer(async () => {
      strace.kill('SIGINT');
      await ended;
      assert.ok(strace.exitCode !== null || strace.signalCode !== null);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#release();
  }
}
