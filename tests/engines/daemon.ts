import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:net';

/** A process of a database or S3 engine. It ends if the test run is killed, and writes its output to a file. */
export class Daemon {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;

  constructor(
    command: string[],
    options: { log: string; user?: string; cwd?: string; env?: NodeJS.ProcessEnv },
  ) {
    const { log, user, cwd, env = process.env } = options;
    const [program = '', ...args] = [...asUser(user), ...command];
    // The process writes the file itself: a pipe would block it whenever this process is busy.
    const file = openSync(log, 'a');
    this.#child = spawn(program, args, { stdio: ['ignore', file, file], cwd, env });
    closeSync(file);
    this.#exited = once(this.#child, 'exit');
  }

  get pid(): number {
    return this.#child.pid!;
  }

  get alive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.alive) this.#child.kill(signal);
    await this.#exited;
  }
}

/** Returns a command prefix that ends the process with its parent, and runs it as this user if we are root. */
function asUser(user: string | undefined): string[] {
  const death = ['setpriv', '--pdeathsig', 'KILL'];
  if (user === undefined || process.getuid?.() !== 0) return death;
  const id = (flag: string) => execFileSync('id', [flag, user], { encoding: 'utf8' }).trim();
  return [...death, '--reuid', id('-u'), '--regid', id('-g'), '--clear-groups'];
}

/** Runs a program as this user and returns its output. Throws an error with the output if it fails. */
export function runAs(
  user: string | undefined,
  command: string[],
  env: NodeJS.ProcessEnv = process.env,
): string {
  const [program = '', ...args] = [...asUser(user), ...command];
  const result = spawnSync(program, args, { encoding: 'utf8', env, timeout: 60_000 });
  if (result.status !== 0) {
    throw new Error(
      `${command[0]} ended with ${result.status ?? result.error}: ${result.stdout}${result.stderr}`,
    );
  }
  return result.stdout;
}

/** Finds a port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
