import { parseArguments } from './arguments.ts';
import type { CommandEntry } from './command.ts';
import { Interrupted, Reported } from './errors.ts';
import { Output } from './lib/print/output.ts';

export const VERSION = '0.2.0';
/** One Ctrl-C can arrive twice within this time: from the terminal, and forwarded by the launcher. */
const SAME_SIGNAL_MS = 400;
/** How long an interrupted command may take to clean up before the process exits. */
const GRACE_MS = 5000;

/** Runs a command and returns its exit code. Errors are printed as one line and a hint. */
export async function run(argv: string[], signal: AbortSignal): Promise<number> {
  let out = new Output({ json: argv.includes('--json'), quiet: false });
  try {
    const parsed = parseArguments(argv);
    out = new Output({ json: parsed.flags.json ?? false, quiet: parsed.flags.quiet ?? false });
    if (parsed.version) {
      out.answer('version', { version: VERSION }, `szafa ${VERSION}`);
      return 0;
    }
    const { commands } = await import('./command-table.ts');
    const entry: CommandEntry | undefined =
      parsed.command === undefined ? undefined : commands[parsed.command];
    if (!entry || parsed.flags.help) {
      const { commandHelp, generalHelp } = await import('./help.ts');
      const text = entry ? commandHelp(parsed.command!) : generalHelp();
      out.answer('help', { text }, text.trimEnd());
      return 0;
    }
    const { readSettings } = await import('./lib/account/settings.ts');
    const settings = readSettings(parsed.flags, process.env);
    const command = await entry.load();
    if (!entry.needsNoConfig) {
      const { sessionStore } = await import('./lib/account/session-store.ts');
      sessionStore({ settings, out }).prepare();
    }
    const { Batch } = await import('./lib/transfer/batch.ts');
    const batch = new Batch(out, signal);
    const began = performance.now();
    await command({ args: parsed.args, flags: parsed.flags, settings, out, batch, began, signal });
    batch.finish();
    return 0;
  } catch (error) {
    const { explain } = await import('./explain.ts');
    const explained = explain(signal.aborted ? signal.reason : error);
    if (!(error instanceof Reported) || signal.aborted) out.error(explained);
    return explained.exit;
  }
}

/** Runs the command of this process. The first Ctrl-C aborts it, the second exits at once. */
export function start(argv: string[] = process.argv.slice(2)): void {
  const interrupt = new AbortController();
  let first = 0;
  const stop = () => {
    const now = Date.now();
    if (first && now - first < SAME_SIGNAL_MS) return;
    if (first) process.exit(130);
    first = now;
    interrupt.abort(new Interrupted());
    setTimeout(() => process.exit(130), GRACE_MS).unref();
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, stop);
  if (process.channel) {
    process.once('disconnect', stop);
    process.channel.unref();
  }
  run(argv, interrupt.signal).then(
    (code) => {
      process.exitCode = code;
      if (interrupt.signal.aborted) process.exit(130);
    },
    (error: unknown) => {
      process.stderr.write(`szafa: ${String(error)}\n`);
      process.exitCode = 1;
    },
  );
}
