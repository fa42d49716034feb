import type { FastifyBaseLogger } from 'fastify';
import pino from 'pino';
import { LogOutput } from './log-output.ts';

export type Log = FastifyBaseLogger;

interface LogOptions {
  terminal?: boolean;
  /** Called before each write: see `unblockStdout`. */
  unblock?: () => void;
}

/** Creates a log with JSON lines, or plain lines for a terminal. */
export function createLog(
  level: 'debug' | 'info' | 'warn' | 'error' | 'silent',
  { terminal = process.stdout.isTTY, unblock = () => undefined }: LogOptions = {},
): Log {
  const options: pino.LoggerOptions = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  if (terminal) {
    // Closing the terminal ends the log, not the process.
    process.stdout.on('error', () => undefined);
    return pino(options, { write: (line) => process.stdout.write(plain(line)) });
  }
  return pino(options, new LogOutput(unblock));
}

const LEVELS: Record<number, string> = { 20: 'debug', 30: '', 40: 'warning: ', 50: 'error: ', 60: 'fatal: ' };

/** Escapes control and invisible characters, because clients choose parts of a line. */
const shown = (text: string) =>
  text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`);

function plain(line: string): string {
  const { level, time, msg, err, method, route, status, ms, user, ...rest } = JSON.parse(line);
  const clock = String(time).slice(11, 19);
  const request = method ? `${status} ${method} ${route} ${ms} ms${user ? ` ${user}` : ''}` : '';
  const details = Object.entries(rest)
    .map(([key, value]) => ` ${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('');
  const stack: string[] = err?.stack?.split('\n') ?? [];
  const text = `${clock} ${LEVELS[level] ?? ''}${request || (msg ?? '')}${details}`;
  return [text, ...stack].map((part) => `${shown(part)}\n`).join('');
}

/** Logs a line of level info whose text is formatted only when it is written. */
export function infoLater(log: Log, fields: () => object): void {
  const { [pino.symbols.streamSym]: output } = log as unknown as Record<symbol, unknown>;
  if (!(output instanceof LogOutput)) log.info(fields());
  else if ((log as pino.Logger).isLevelEnabled('info')) {
    const time = new Date();
    output.write(() => `${JSON.stringify({ level: pino.levels.values['info'], time, ...fields() })}\n`);
  }
}

/** Shortens an id: enough to follow it through a log, too little to use it. */
export const shortened = (id: string) => (id.length > 8 ? `${id.slice(0, 6)}…` : id);
