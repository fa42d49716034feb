import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { Device } from './device.ts';
import { packedCommand } from './packed.ts';

const LIMIT_MS = 180_000;

export interface TerminalOptions {
  env?: Record<string, string>;
  columns?: number;
  rows?: number;
}

const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** A command on a real pseudo terminal, with someone who types. */
export class Terminal {
  screen = '';
  readonly ended: Promise<number | null>;
  readonly #child;
  #seen = 0;

  constructor(device: Device, args: string[], { env = {}, columns = 100, rows = 30 }: TerminalOptions = {}) {
    const words = [process.execPath, packedCommand(), ...args].map(quote).join(' ');
    const command = `stty cols ${columns} rows ${rows}; ${words}`;
    this.#child = spawn('script', ['-qefc', command, '/dev/null'], {
      cwd: device.home,
      env: { ...device.env, TERM: 'xterm', ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.screen += text;
    });
    const late = setTimeout(() => this.#child.kill('SIGKILL'), LIMIT_MS);
    this.ended = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('close', (code) => {
        clearTimeout(late);
        resolve(code);
      });
    });
  }

  /** Waits for something new on the screen. */
  async until(pattern: RegExp): Promise<void> {
    for (let waited = 0; ; waited += 20) {
      const found = pattern.exec(this.screen.slice(this.#seen));
      if (found) {
        this.#seen += found.index + found[0].length;
        return;
      }
      const over = this.#child.exitCode !== null || waited > LIMIT_MS;
      assert.ok(!over, `no ${pattern} on the screen:\n${this.screen}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  type(text: string): void {
    this.#child.stdin.write(text);
  }

  async answer(question: RegExp, text: string): Promise<void> {
    await this.until(question);
    this.type(`${text}\r`);
  }
}

/** Types the groups of a shown recovery key that are asked for, after a wrong answer; the key. */
export async function confirmKey(terminal: Terminal, wrong = 'AAAA BBBB'): Promise<string> {
  await terminal.until(/recovery key of [^\n]*\n/);
  await terminal.answer(/type groups \d+ and \d+ of it[^\n]*: /, wrong);
  await terminal.until(/do not match the key above/);
  await terminal.until(/type groups \d+ and \d+ of it[^\n]*: /);
  const [, first, second] = /type groups (\d+) and (\d+) of it/.exec(terminal.screen)!;
  const key = /(?:[0-9A-Z]{4}[-\s]+){13}[0-9A-Z]{4}/.exec(terminal.screen)![0].split(/[-\s]+/);
  terminal.type(`${key[Number(first) - 1]!.toLowerCase()} ${key[Number(second) - 1]}\r`);
  return key.join('-');
}
