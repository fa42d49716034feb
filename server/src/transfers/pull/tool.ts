import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { limits } from '@szafa/protocol';
import { PullError } from './error.ts';

const TOOL = 'aria2c';
/** Time to end by itself after SIGTERM. */
const GRACE_MS = 2000;
/** How long the tool waits for a silent server before it tries again. */
export const SILENCE_MS = 30_000;
/** What a shell says when a program was found but could not be run, or not found behind a script. */
const SHELL_FAILURES = [126, 127];

export interface ToolEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** The download tool, found through PATH as the system would find it. */
export async function findTool(path = process.env['PATH'] ?? ''): Promise<string> {
  let found = false;
  for (const folder of path.split(delimiter)) {
    const file = join(folder || '.', TOOL);
    const info = await stat(file).catch(() => null); // absent or out of reach: the next folder
    if (!info?.isFile()) continue;
    found = true;
    const executable = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (executable) {
      if (await isProgram(file)) return file;
      break;
    }
  }
  if (found) throw new PullError('cannot-start', `${TOOL} is installed, but this system cannot run it`);
  throw new PullError('missing-tool', `${TOOL} is not installed on the server`);
}

/**
 * The C library hands a file that the kernel will not run to a shell, whose exit code could not be told
 * from the tool's own. So the head of the file is looked at first: a script, or a binary like the one running this.
 */
async function isProgram(file: string): Promise<boolean> {
  const [head, own] = await Promise.all([readHead(file), readHead(process.execPath)]);
  if (head === null) return true; // may be run but not read
  if (head.toString('latin1', 0, 2) === '#!') return true;
  const kind = (bytes: Buffer) => bytes.toString('latin1', 0, 6) + bytes.toString('latin1', 18, 20);
  const elf = own?.toString('latin1', 1, 4) === 'ELF';
  return !elf || kind(head) === kind(own);
}

async function readHead(file: string): Promise<Buffer | null> {
  const handle = await open(file).catch(() => null); // unreadable: the caller decides
  if (handle === null) return null;
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(20), 0, 20, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Nothing secret: every user of the machine can read the arguments of a process. */
export function toolArguments(proxyUrl: string, rate?: number): string[] {
  return [
    '--no-conf',
    '--no-netrc',
    `--all-proxy=${proxyUrl}`,
    '--no-proxy=',
    '--proxy-method=get',
    '--async-dns=false',
    '--input-file=-',
    '--parameterized-uri=false',
    '--dir=.',
    `--max-concurrent-downloads=${limits.pullDownloads}`,
    `--max-connection-per-server=${limits.pullConnections}`,
    `--split=${limits.pullConnections}`,
    '--min-split-size=1M',
    ...(rate === undefined ? [] : [`--max-overall-download-limit=${rate}`]),
    '--file-allocation=none',
    '--auto-file-renaming=false',
    '--allow-overwrite=true',
    '--remote-time=false',
    '--use-head=false',
    '--http-accept-gzip=false',
    '--enable-http-pipelining=false',
    '--follow-torrent=false',
    '--follow-metalink=false',
    '--enable-dht=false',
    '--enable-dht6=false',
    '--enable-peer-exchange=false',
    '--bt-enable-lpd=false',
    '--enable-rpc=false',
    '--max-tries=4',
    '--retry-wait=0',
    `--connect-timeout=${SILENCE_MS / 1000}`,
    `--timeout=${SILENCE_MS / 1000}`,
    '--console-log-level=notice',
    '--show-console-readout=false',
    '--summary-interval=0',
    '--download-result=hide',
    '--enable-color=false',
    `--stop-with-process=${process.pid}`,
  ];
}

/**
 * The running tool. It leads a process group of its own, so that it can be ended together with whatever it started.
 * Its environment is empty but for PATH: proxies, home and locale of the host do not count.
 */
export class Tool {
  readonly ended: Promise<ToolEnd>;
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>, signal: AbortSignal) {
    this.#child = child;
    let force: NodeJS.Timeout | undefined;
    const stop = () => {
      this.#kill('SIGTERM');
      force = setTimeout(() => this.#kill('SIGKILL'), GRACE_MS);
    };
    this.ended = new Promise((resolve) => {
      child.on('exit', (code, by) => {
        signal.removeEventListener('abort', stop);
        clearTimeout(force);
        this.#kill('SIGKILL'); // children that outlived it
        resolve({ code, signal: by });
      });
    });
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop);
  }

  static async start(file: string, args: string[], cwd: string, signal: AbortSignal): Promise<Tool> {
    try {
      const env = { PATH: process.env['PATH'] ?? '', LC_ALL: 'C' };
      const child = spawn(file, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'ignore'] });
      await once(child, 'spawn');
      return new Tool(child, signal);
    } catch (cause) {
      throw new PullError('cannot-start', `${TOOL} could not be started`, { cause });
    }
  }

  /** Gives the tool its list; returns when it has taken all of it. */
  async feed(lines: Iterable<string>): Promise<void> {
    await pipeline(Readable.from(lines), this.#child.stdin).catch(() => {
      // A tool that ends before it has read its list says why by its exit code.
    });
  }

  /** The lines that the tool prints. */
  lines(): AsyncIterable<string> {
    return createInterface({ input: this.#child.stdout, crlfDelay: Number.POSITIVE_INFINITY });
  }

  #kill(signal: NodeJS.Signals): void {
    try {
      process.kill(-this.#child.pid!, signal);
    } catch {
      // ESRCH: the group is gone, which is what was wanted.
    }
  }
}

export function isShellFailure(end: ToolEnd): boolean {
  return end.code !== null && SHELL_FAILURES.includes(end.code);
}
