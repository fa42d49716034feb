import { parseArgs } from 'node:util';
import { readConfig } from '../../config.ts';
import { ADOPT_USAGE, adopt } from '../../upkeep/commands/adopt.ts';
import { checkStore } from '../../upkeep/commands/check-store.ts';
import { fsck } from '../../upkeep/commands/fsck.ts';
import { migrateStores } from '../../upkeep/commands/migrate.ts';
import { decideOrphans, ORPHANS_USAGE } from '../../upkeep/commands/orphans.ts';
import {
  configOf,
  openAlone,
  openPair,
  openStores,
  type Pair,
  requireDatabase,
} from '../../upkeep/commands/pair.ts';
import { rescue, rescueMissing } from '../../upkeep/commands/rescue.ts';
import { VERSION } from '../../version.ts';
import { isOperatorCommand, operate } from './operate.ts';
import { flag, text } from './operator-commands.ts';
import { checkReady } from './ready.ts';
import { parseOptions, Report, UsageError } from './report.ts';

const USAGE = `usage: szafa-server [command] [options]

  (none)         run the server
  account        accounts: list, show, quota, limits, disable, enable, logout, factor-off, delete, invite, invitations,
                 uninvite; see account --help
  transfers      unfinished uploads: list, cancel; see transfers --help
  shares         links and shares: list, end; see shares --help
  requests       file requests: list, end; see requests --help
  status         show the state of the server
  ready          check whether the server on this machine accepts requests, by SZ_HOST, SZ_PORT and SZ_TLS_CERT
                 --wait N     ask for up to N seconds
  read-only      on or off: refuse all writes, on all nodes; see read-only --help
  audit          show the audit log; see audit --help
  check-store    check that the volume store does what the server relies on
  fsck           check every stored volume, orphans and totals; can run while the server does
                 --repair     recompute totals, write missing manifests,
                              request broken volumes of unfinished uploads again
                 --rate N     read at most N MB per second (default 50)
                 --continue   continue with the file where the last run stopped
  adopt          declare that the volume store belongs to this database, which ends a contest; see adopt --help
  orphans        volume groups without a record: list, take, remove; see orphans --help
  migrate        copy everything to other stores; stop the server first; if it is interrupted, run it again to continue
                 --from STORES  --to STORES
                 where STORES is a folder, or postgres://…,s3://…, or one of these and a folder
  rescue         rebuild an empty database from the documents beside the volumes; can be repeated
                 --passwords FILE   receives a new password for each owner whose account has no document
  rescue --missing
                 add what the store has and the database lacks, as after restoring an older backup
                 --dry-run          only show what that is; can run while the server does
                 --passwords FILE   as above; without it, files of such owners are only reported

  --json         results and progress as JSON lines
  --version      the version of the server
Except for migrate, the stores are those in the server's settings (SZ_DATA, SZ_DATABASE, SZ_VOLUMES).
The exit code is 0 when all is well, 1 when problems were found, and 2 when the command could not run: wrong usage or
settings, a store that does not answer, a database of another version. The server itself also ends with 2 for these.`;

const options = {
  ...{ json: flag, repair: flag, continue: flag, missing: flag, 'dry-run': flag, all: flag, help: flag },
  ...{ from: text, to: text, passwords: text, store: text },
  rate: { type: 'string', default: '50' },
  wait: { type: 'string', default: '0' },
} as const;

const HELP: Record<string, string> = { adopt: ADOPT_USAGE, orphans: ORPHANS_USAGE };

function required(value: string | undefined, name: string): string {
  if (value === undefined) throw new UsageError(`${name} is missing`);
  return value;
}

async function withPair(opening: Promise<Pair>, work: (pair: Pair) => Promise<void>): Promise<void> {
  const pair = await opening;
  await work(pair).finally(() => pair.close());
}

/**
 * Handles a reader such as `head` that closes the pipe early: commands that only show something exit, others continue
 * silently.
 */
function endWithoutReader(ends: boolean): void {
  for (const output of [process.stdout, process.stderr]) {
    if (output.listenerCount('error') > 0) continue;
    output.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      if (ends) process.exit(0);
    });
  }
}

/** Runs a command and returns its exit code. Some commands can run while the server does; others need it stopped. */
export async function runCommand(name: string, args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  endWithoutReader(isOperatorCommand(name));
  if (isOperatorCommand(name)) return operate(name, args, env);
  const { values, positionals } = parseOptions(() => parseArgs({ args, options, allowPositionals: true }));
  const [extra] = name === 'orphans' ? [] : positionals;
  if (extra !== undefined) throw new UsageError(`${name} takes only options, not ${extra}`);
  if (values.help) {
    process.stdout.write(`${HELP[name] ?? USAGE}\n`);
    return 0;
  }
  const report = new Report(values.json);
  switch (name) {
    case 'check-store':
      await checkStore(readConfig(env), report);
      break;
    case 'fsck': {
      const rate = Number(values.rate);
      if (!(rate > 0)) throw new UsageError('--rate must be a number of MB per second');
      const options = { repair: values.repair, goOn: values.continue, bytesPerSecond: rate * 1e6 };
      await withPair(openPair(readConfig(env)), (pair) => fsck(pair, options, report));
      break;
    }
    case 'ready': {
      if (!/^\d{1,6}$/.test(values.wait)) throw new UsageError('--wait must be a number of seconds');
      await checkReady(readConfig(env), Number(values.wait), report);
      break;
    }
    case 'adopt':
      await withPair(openStores(readConfig(env)), (pair) => adopt(pair, values.store, report));
      break;
    case 'orphans':
      await withPair(openPair(readConfig(env)), (pair) =>
        decideOrphans(pair, positionals, values.all, report),
      );
      break;
    case 'migrate': {
      const [source, target] = [required(values.from, '--from'), required(values.to, '--to')];
      const config = configOf(source, env);
      requireDatabase(config);
      await withPair(openAlone(config), (from) =>
        withPair(openAlone(configOf(target, env), { other: from, anyStore: true }), (to) =>
          migrateStores(from, to, report),
        ),
      );
      break;
    }
    case 'rescue': {
      const { passwords, missing, 'dry-run': dryRun } = values;
      const config = readConfig(env);
      if (missing) {
        requireDatabase(config);
        const opening = dryRun ? openPair(config) : openAlone(config);
        await withPair(opening, (pair) => rescueMissing(pair, { passwords, dryRun }, report));
      } else {
        if (dryRun) throw new UsageError('--dry-run needs --missing');
        const file = required(passwords, '--passwords');
        await withPair(openAlone(config, { anyStore: true }), (pair) => rescue(pair, file, report));
      }
      break;
    }
    case '--version':
      process.stdout.write(`szafa-server ${VERSION}\n`);
      return 0;
    case 'help':
    case '--help':
      process.stdout.write(`${USAGE}\n`);
      return 0;
    default:
      throw new UsageError(`there is no command ${name}; see szafa-server --help`);
  }
  return report.end();
}
