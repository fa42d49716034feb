import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram } from './machine.ts';

export class DaemonError extends Error {
  override name = 'DaemonError';
}

const SHOWN_OUTPUT = 2000;

/** A server under test, as a child process that does not outlive the bench. */
export class Daemon {
  static readonly #running = new Set<Daemon>();
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #outputFile: string;
  #startError = '';

  /** Writes the output to a file, so that reading it does not disturb a measurement. */
  constructor(name: string, command: string[], outputFile: string, env: NodeJS.ProcessEnv = process.env) {
    this.name = name;
    this.#outputFile = outputFile;
    const setpriv = findProgram('setpriv');
    const [file = '', ...args] = setpriv ? [setpriv, '--pdeathsig', 'KILL', ...command] : command;
    const output = openSync(outputFile, 'a');
    this.#child = spawn(file, args, { env, stdio: ['ignore', output, output] });
    closeSync(output);
    Daemon.#running.add(this);
    this.#child.on('exit', () => Daemon.#running.delete(this));
    this.#child.on('error', (error) => {
      this.#startError = error.message;
    });
  }

  /** Stops all daemons at once, when the bench is interrupted. */
  static async killAll(): Promise<void> {
    await Promise.all(Array.from(Daemon.#running, (daemon) => daemon.stop(0)));
  }

  get pid(): number {
    if (this.#child.pid === undefined)
      throw new DaemonError(`${this.name} did not start: ${this.#startError}`);
    return this.#child.pid;
  }

  /** Waits for a match in the daemon's output. */
  async printed(pattern: RegExp, seconds = 20): Promise<RegExpExecArray> {
    for (let waited = 0; waited < seconds * 1000; waited += 20) {
      const match = pattern.exec(this.#output());
      if (match) return match;
      this.#checkRunning();
      await sleep(20);
    }
    throw new DaemonError(
      `${this.name} was not ready after ${seconds} s: ${this.#output().slice(-SHOWN_OUTPUT)}`,
    );
  }

  async listening(port: number, seconds = 20): Promise<void> {
    for (let waited = 0; waited < seconds * 1000; waited += 20) {
      this.#checkRunning();
      if (await accepts(port)) return;
      await sleep(20);
    }
    throw new DaemonError(
      `${this.name} does not listen after ${seconds} s: ${this.#output().slice(-SHOWN_OUTPUT)}`,
    );
  }

  /** Sends SIGTERM, then SIGKILL if the daemon takes too long. */
  async stop(seconds = 5): Promise<void> {
    if (this.#ended()) return;
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), seconds * 1000);
    await exit;
    clearTimeout(timer);
  }

  #output(): string {
    return this.#startError || readFileSync(this.#outputFile, 'utf8');
  }

  #ended(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  #checkRunning(): void {
    if (this.#ended() || this.#child.pid === undefined) {
      throw new DaemonError(`${this.name} ended before it was ready: ${this.#output().slice(-SHOWN_OUTPUT)}`);
    }
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** Finds a port that was free a moment ago, for servers that cannot choose one themselves. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new DaemonError('no free port');
  return address.port;
}
