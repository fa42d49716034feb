import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { COMPILED, MAIN } from './main.ts';
import type { Service } from './service.ts';
import { storeEnvironment } from './stores.ts';

const MOST_MS = 180_000;

export interface CommandResult {
  code: number | null;
  out: string;
  errors: string;
  /** Parsed output of --json. */
  lines: Record<string, unknown>[];
}

/** Runs a command of the server on the stores of a service, which may be running. */
export async function command(
  service: Service,
  args: string[],
  env: Record<string, string> = {},
): Promise<CommandResult> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: service.home,
    env: {
      PATH: process.env['PATH'] ?? '',
      NODE_COMPILE_CACHE: COMPILED,
      SZ_DATA: service.data,
      ...storeEnvironment(service.id),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: MOST_MS,
  });
  let [out, errors] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  const lines = args.includes('--json') ? out.trim().split('\n').filter(Boolean) : [];
  return { code, out, errors, lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}
