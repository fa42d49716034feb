import { parseArgs } from 'node:util';
import { readConfig } from '../../config.ts';
import { StoreUnavailable } from '../../platform/errors.ts';
import { ApiError } from '../../platform/http/api-error.ts';
import { openPair, openStores } from '../../upkeep/commands/pair.ts';
import { type RunningNode, SHOWN_SETTINGS } from '../nodes-table.ts';
import { Operator } from '../operator.ts';
import { commands, options } from './operator-commands.ts';
import { parseOptions, Report, UsageError } from './report.ts';
import { USAGES } from './usages.ts';

export type OperatorCommand = keyof typeof USAGES;
export const isOperatorCommand = (name: string): name is OperatorCommand => name in USAGES;

/** Runs an operator command and returns its exit code. */
export async function operate(
  name: OperatorCommand,
  args: string[],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const { values, positionals } = parseOptions(() => parseArgs({ args, options, allowPositionals: true }));
  if (values.help) {
    process.stdout.write(`${USAGES[name]}\n`);
    return 0;
  }
  const hasSubcommands = commands[name] === undefined;
  const [first = '', ...others] = positionals;
  const [full, rest] = hasSubcommands ? [`${name} ${first}`, others] : [name, positionals];
  const command = commands[full];
  const help = `see szafa-server ${name} --help`;
  if (!command) throw new UsageError(first ? `there is no command "${full}"; ${help}` : help);
  const [least, most] = command.args;
  if (rest.length < least || rest.length > most) throw new UsageError(help);
  const known = new Set<string>(['json', 'help', ...(command.options ?? [])]);
  for (const [option, value] of Object.entries(values))
    if (value !== false && !known.has(option)) throw new UsageError(`${full} has no option --${option}`);
  const config = readConfig(env);
  const pair = await (command.needsVolumes ? openPair(config) : openStores(config));
  const report = new Report(values.json);
  try {
    const nodes = await pair.metadata.nodes.list();
    const running = { ...config, ...nodes[0]?.settings };
    const operator = new Operator({ ...pair, config: running, actor: 'operator' });
    await command.run({ operator, nodes, origin: running.origin, report, args: rest, values });
    if (command.showsSettings) noteSettings(report, nodes);
    return report.end();
  } catch (error) {
    if (!(error instanceof ApiError) || error instanceof StoreUnavailable) throw error;
    report.refused(error.message);
    return 1;
  } finally {
    await pair.close();
  }
}

/** Notes whose settings were shown if no server runs, and which settings differ between nodes. */
function noteSettings(report: Report, nodes: RunningNode[]): void {
  if (nodes.length === 0)
    report.note('no server is running on this database; the settings shown are those of this shell');
  for (const [key, name] of Object.entries(SHOWN_SETTINGS)) {
    const values = nodes.map(({ host, pid, settings }) => ({
      value: String(settings[key as keyof typeof SHOWN_SETTINGS] ?? 'unset'),
      node: `${host} (process ${pid})`,
    }));
    if (new Set(values.map(({ value }) => value)).size < 2) continue;
    const each = values.map(({ node, value }) => `${value} on ${node}`).join(', ');
    report.note(`${name} differs between nodes: ${each}`);
  }
}
