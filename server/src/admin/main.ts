import { parseArgs } from 'node:util';
import { readConfig } from '../config.ts';
import { ADOPT_USAGE, adopt } from './adopt.ts';
import { checkStore } from './check-store.ts';
import { fsck } from './fsck.ts';
import { migrateStores } from './migrate.ts';
import { decideOrphans, ORPHANS_USAGE } from './orphans.ts';
import { configOf, openAlone, openPair, requireDatabase } from './pair.ts';
import { Report, UsageError } from './report.ts';
import { rescue, rescueMissing } from './rescue.ts';

const USAGE = `usage: szafa-server [command] [options]

  (none)         run the service
  check-store    try the volume store for what the service relies on
  fsck           every stored volume against its digest, orphans, sums; may run beside the service
                 --repair     count sums anew, write missing manifests,
                              have broken volumes of uploads under way sent again
                 --rate N     read at most N MB a second (default 50)
  adopt          say that the volume store is this database's, which ends a contest; see adopt --help
  orphans        volume groups that no record names: list, take, remove; see orphans --help
  migrate        copy everything to other stores; the service must not run; may be repeated
                 --from STORES  --to STORES
                 where STORES is a folder, or postgres://…,s3://…, or one of these and a folder
  rescue         rebuild the metadata from what lies beside the volumes, into an empty database; may be repeated
                 --passwords FILE   gets a new password for each owner whose account has no document
  rescue --missing
                 take what the store has and the database lacks, as after the restore of an older backup
                 --dry-run          only tell what that is; may run beside the service
                 --passwords FILE   as above; without it files of such owners are only told

  --json         results and progress as JSON lines
Stores come from the same settings as the service's (SZ_DATA, SZ_DATABASE, SZ_VOLUMES), but for migrate.
The exit code is 0 when all is well, 1 when problems were found, 2 when it could not be run: wrong usage or
settings, a store that does not answer, a database of another version. The service itself ends with 2 for these, too.`;

const options = {
  json: { type: 'boolean', default: false },
  repair: { type: 'boolean', default: false },
  rate: { type: 'string', default: '50' },
  from: { type: 'string' },
  to: { type: 'string' },
  passwords: { type: 'string' },
  missing: { type: 'boolean', default: false },
  'dry-run': { type: 'boolean', default: false },
  store: { type: 'string' },
  all: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const;

const HELP: Record<string, string> = { adopt: ADOPT_USAGE, orphans: ORPHANS_USAGE };

function parse(args: string[]) {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

function required(value: string | undefined, name: string): string {
  if (value === undefined) throw new UsageError(`${name} is missing`);
  return value;
}

/** Runs a command beside, or instead of, the service; resolves to its exit code. */
export async function runCommand(name: string, args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { values, positionals } = parse(args);
  const [extra] = name === 'orphans' ? [] : positionals;
  if (extra !== undefined) throw new UsageError(`${name} takes options only, not ${extra}`);
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
      if (!(rate > 0)) throw new UsageError('--rate must be a number of MB a second');
      const pair = await openPair(readConfig(env));
      await fsck(pair, { repair: values.repair, bytesPerSecond: rate * 1e6 }, report).finally(() =>
        pair.close(),
      );
      break;
    }
    case 'adopt':
      await adopt(readConfig(env), values.store, report);
      break;
    case 'orphans': {
      const pair = await openPair(readConfig(env));
      await decideOrphans(pair, positionals, values.all, report).finally(() => pair.close());
      break;
    }
    case 'migrate': {
      const [source, target] = [required(values.from, '--from'), required(values.to, '--to')];
      const config = configOf(source, env);
      requireDatabase(config);
      const from = await openAlone(config);
      try {
        const to = await openAlone(configOf(target, env), { other: from, anyStore: true });
        await migrateStores(from, to, report).finally(() => to.close());
      } finally {
        await from.close();
      }
      break;
    }
    case 'rescue': {
      const { passwords, missing, 'dry-run': dryRun } = values;
      const config = readConfig(env);
      if (missing) {
        requireDatabase(config);
        const pair = dryRun ? await openPair(config) : await openAlone(config);
        await rescueMissing(pair, { passwords, dryRun }, report).finally(() => pair.close());
      } else {
        if (dryRun) throw new UsageError('--dry-run goes with --missing');
        const file = required(passwords, '--passwords');
        const pair = await openAlone(config, { anyStore: true });
        await rescue(pair, file, report).finally(() => pair.close());
      }
      break;
    }
    case 'help':
    case '--help':
      process.stdout.write(`${USAGE}\n`);
      return 0;
    default:
      throw new UsageError(`there is no command ${name}; see szafa-server --help`);
  }
  return report.end();
}
