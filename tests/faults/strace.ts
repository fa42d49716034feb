import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

export interface Injection {
  /** System calls by their names on x64, comma-separated; elsewhere what is called instead of them. */
  calls: string;
  /** As strace has it: `error=EIO`, `signal=KILL`, with `:when=N` counted for each thread. */
  fault: string;
  /** Only the main thread, which is where the database is used; otherwise all threads. */
  mainThread?: boolean;
  /** Only calls on this file. */
  path?: string;
}

/** arm64 has only the newer of these; `?` makes strace pass over a name that the machine does not know. */
const SAME_CALL: Record<string, string> = {
  rename: '?rename,?renameat,?renameat2',
  mkdir: '?mkdir,?mkdirat',
  open: '?open,?openat',
};

const onThisMachine = (calls: string) =>
  calls
    .split(',')
    .map((call) => SAME_CALL[call] ?? call)
    .join(',');

/** Holds processes under strace, which makes their system calls fail as told, until it is released. */
export class Tracer {
  readonly #straces: ChildProcess[];

  private constructor(straces: ChildProcess[]) {
    this.#straces = straces;
  }

  /** One strace for each process: a single one for several can hang when one of them is killed. */
  static async attach(pids: number[], injection: Injection): Promise<Tracer> {
    return new Tracer(await Promise.all(pids.map((pid) => attachOne(pid, injection))));
  }

  /** Killing strace lets go of its process at once; it goes on as if never traced. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const strace of this.#straces) {
      if (strace.exitCode !== null || strace.signalCode !== null) continue;
      const exited = once(strace, 'exit');
      strace.kill('SIGKILL');
      await exited;
    }
  }
}

async function attachOne(
  pid: number,
  { calls, fault, mainThread = false, path }: Injection,
): Promise<ChildProcess> {
  // A test run that is killed must not leave a traced process behind.
  const args = ['--pdeathsig', 'KILL', 'strace', '-o', '/dev/null', ...(mainThread ? [] : ['-f'])];
  if (path !== undefined) args.push('-P', path);
  const names = onThisMachine(calls);
  args.push('-e', `trace=${names}`, '-e', `inject=${names}:${fault}`, '-p', String(pid));
  const strace = spawn('setpriv', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  await new Promise<void>((resolve, reject) => {
    strace.once('error', (error) => reject(new Error(`the tests of faults need strace: ${error.message}`)));
    strace.once('close', () => reject(new Error(`strace could not attach: ${said}`)));
    strace.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      if (said.includes(' attached')) resolve();
    });
  });
  return strace;
}
