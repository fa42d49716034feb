import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { limits } from '@szafa/protocol';

/**
 * missing-tool: not in PATH. cannot-start: found, but the system cannot run it. exit: ended with an error. refused: the
 * address, or one it redirects to, is not allowed.
 */
export type PullFailure = 'missing-tool' | 'cannot-start' | 'exit' | 'refused' | 'timeout' | 'aborted';

/** Why a pull ended. The message never contains an address, a token or a transfer id. */
export class PullError extends Error {
  override name = 'PullError';
  readonly kind: PullFailure;

  constructor(kind: PullFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** Exit codes of aria2c that can occur with HTTP downloads. */
const MEANINGS: Record<number, string> = {
  1: 'unknown error',
  2: 'time-out',
  3: 'volume not found',
  4: 'volume not found',
  5: 'too slow',
  6: 'network problem',
  7: 'unfinished downloads',
  8: 'the server cannot resume',
  9: 'disk full',
  13: 'file already exists',
  15: 'cannot open a file',
  16: 'cannot create a file',
  17: 'file input or output failed',
  18: 'cannot create a folder',
  19: 'name resolution failed',
  22: 'unexpected HTTP response',
  23: 'too many redirects',
  24: 'HTTP authorization failed',
  28: 'bad option',
  29: 'the server is overloaded',
};

/** `fault`: the last error of the client's server, if one is known. */
export function exitError(code: number | null, signal: string | null, fault: string | undefined): PullError {
  const how =
    code === null
      ? `was killed by ${signal}`
      : `ended with code ${code} (${MEANINGS[code] ?? 'unknown meaning'})`;
  const why = fault === undefined ? '' : `: ${fault}`;
  return new PullError('exit', `the download tool ${how}${why}`);
}

const TOOL = 'aria2c';
/** Time to exit after SIGTERM. */
const GRACE_MS = 2000;
/** How long the tool waits for a silent server before it tries again. */
export const SILENCE_MS = 30_000;
/** Exit codes of a shell for a program it cannot run, or a script whose interpreter is missing. */
const SHELL_FAILURES = [126, 127];

export interface ToolExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Finds the download tool in PATH, as the system would find it. */
export async function findTool(path = process.env['PATH'] ?? ''): Promise<string> {
  let found = false;
  for (const folder of path.split(delimiter)) {
    const file = join(folder || '.', TOOL);
    const info = await stat(file).catch(() => null); // missing or inaccessible
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
 * Whether the file is a script, or a binary for this machine. The C library runs any other file with a shell, whose exit code
 * cannot be distinguished from the tool's.
 */
async function isProgram(file: string): Promise<boolean> {
  const [head, own] = await Promise.all([readHead(file), readHead(process.execPath)]);
  if (head === null) return true; // executable, but not readable
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

/** Builds the arguments, which must not contain secrets: every user of the machine can read the arguments of a process. */
export function toolArguments(proxyUrl: string, rate?: number): string[] {
  const limit = rate === undefined ? '' : `--max-overall-download-limit=${rate}`;
  return `--no-conf --no-netrc --all-proxy=${proxyUrl} --no-proxy= --proxy-method=get --async-dns=false
    --input-file=- --parameterized-uri=false --dir=. --max-concurrent-downloads=${limits.pullDownloads}
    --max-connection-per-server=${limits.pullConnections} --split=${limits.pullConnections}
    --min-split-size=1M ${limit} --file-allocation=none --auto-file-renaming=false --allow-overwrite=true
    --remote-time=false --use-head=false --http-accept-gzip=false --enable-http-pipelining=false
    --follow-torrent=false --follow-metalink=false --enable-dht=false --enable-dht6=false
    --enable-peer-exchange=false --bt-enable-lpd=false --enable-rpc=false --max-tries=4 --retry-wait=0
    --connect-timeout=${SILENCE_MS / 1000} --timeout=${SILENCE_MS / 1000} --console-log-level=notice
    --show-console-readout=false --summary-interval=0 --download-result=hide --enable-color=false
    --stop-with-process=${process.pid}`.split(/\s+/);
}

/**
 * The running tool. It leads a process group, so that its children end with it. Its environment has only PATH and a locale:
 * proxy settings and home folder of the host must not apply.
 */
export class Tool {
  readonly ended: Promise<ToolExit>;
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
        this.#kill('SIGKILL'); // ends remaining children
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

  /** Writes the list of addresses; resolves when the tool has read it. */
  async feed(lines: Iterable<string>): Promise<void> {
    await pipeline(Readable.from(lines), this.#child.stdin).catch(() => {
      // If the tool exits early, its exit code says why.
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
      // ESRCH: the process group has already ended.
    }
  }
}

export function isShellFailure(exit: ToolExit): boolean {
  return exit.code !== null && SHELL_FAILURES.includes(exit.code);
}
