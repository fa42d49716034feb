/** What an operator does beside a running server, on its database: accounts, uploads, shares, read-only, the audit log. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type LimitName, type LimitsChange, limitNames, limits, type PageQuery } from '@szafa/protocol';
import { readConfig } from '../../config.ts';
import { ApiError } from '../../platform/http/api-error.ts';
import { openPair, openStores } from '../../upkeep/commands/pair.ts';
import { MODE_MS } from '../mode.ts';
import { type RunningNode, SHOWN_SETTINGS } from '../nodes-table.ts';
import { Operator, type Page } from '../operator.ts';
import { checked } from './checked.ts';
import { Report, UsageError } from './report.ts';
import { USAGES } from './usages.ts';

export type OperatorCommand = keyof typeof USAGES;
export const isOperatorCommand = (name: string): name is OperatorCommand => name in USAGES;

const text = { type: 'string' } as const;
const flag = { type: 'boolean', default: false } as const;
const options = {
  ...{ json: flag, help: flag, yes: flag },
  ...{ limit: text, after: text, account: text, note: text, quota: text, days: text },
  ...{ 'open-transfers': text, 'open-volumes': text, pulls: text, 'login-attempts': text },
  ...{ 'upload-rate': text, 'download-rate': text },
} as const;
type Options = ReturnType<typeof parse>['values'];

function parse(args: string[]) {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** Which options a command has, beside --json and --help. */
const TAKES: Record<string, (keyof Options)[]> = {
  'account list': ['limit', 'after'],
  'account limits': [
    ...(['open-transfers', 'open-volumes', 'pulls', 'login-attempts', 'upload-rate'] as const),
    'download-rate',
  ],
  'account delete': ['yes'],
  'account invite': ['note', 'quota', 'days'],
  'transfers list': ['account', 'limit'],
  'shares list': ['account', 'limit'],
  'requests list': ['account', 'limit'],
  audit: ['account', 'limit'],
};

/** All others work on the database alone, also while the volume store is away. */
const NEEDS_VOLUMES = new Set(['account delete', 'transfers cancel']);

/** Those that show settings, which are the server's and not this shell's. */
const SHOWS_SETTINGS = new Set(['status', 'account list', 'account show', 'account quota', 'account invite']);

interface Run {
  operator: Operator;
  /** Those that run. */
  nodes: RunningNode[];
  /** Where the page is for its users, if that is set. */
  origin: string | undefined;
  report: Report;
  /** What stands after the command. */
  args: string[];
  values: Options;
}

type Command = (run: Run) => Promise<void>;

const commands: Record<string, { args: [least: number, most: number]; run: Command }> = {
  'account list': {
    args: [0, 0],
    run: async ({ operator, report, values }) => {
      const most = count(values.limit, '--limit');
      const pages = (query: PageQuery) => operator.accounts(query);
      const from = values.after === undefined ? {} : { cursor: values.after };
      for await (const account of all('accounts', pages, from, most)) {
        report.line(account);
        report.count('accounts');
      }
    },
  },
  'account show': {
    args: [1, 1],
    run: async ({ operator, report, args: [name = ''] }) => report.line(await operator.account(name)),
  },
  'account quota': {
    args: [1, 2],
    run: async ({ operator, report, args: [name = '', size] }) => {
      const account =
        size === undefined
          ? await operator.account(name)
          : await operator.limit(name, checked<LimitsChange>('LimitsChange', { quota_bytes: own(size) }));
      const { username, used_bytes, quota_bytes } = account;
      const enforced = (await operator.status()).quota_enforced ? 'yes' : 'no';
      report.line({ username, used_bytes, quota_bytes, own: account.limits.quota_bytes !== null, enforced });
    },
  },
  'account limits': {
    args: [1, 1],
    run: async ({ operator, report, args: [name = ''], values }) => {
      const change: Partial<Record<LimitName, number | null>> = {};
      for (const limit of limitNames) {
        const given = values[limit.replaceAll('_', '-') as keyof Options];
        if (typeof given === 'string') change[limit] = own(given);
      }
      const isAsked = Object.keys(change).length === 0;
      const account = isAsked
        ? await operator.account(name)
        : await operator.limit(name, checked<LimitsChange>('LimitsChange', change));
      report.line({ username: account.username, limits: account.limits });
    },
  },
  'account disable': acting('disabled', (operator, name) => operator.disable(name)),
  'account enable': acting('enabled', (operator, name) => operator.enable(name)),
  'account logout': acting('sessions ended', (operator, name) => operator.logout(name)),
  'account factor-off': acting('was on', (operator, name) => operator.factorOff(name)),
  'account delete': {
    args: [1, 1],
    run: async ({ operator, report, args: [name = ''], values }) => {
      if (!values.yes) {
        const { files, used_bytes } = await operator.account(name);
        const what = `${name} with ${files} files of ${used_bytes} bytes`;
        throw new UsageError(`this deletes ${what} for good; if you mean it, repeat the command with --yes`);
      }
      await operator.remove(name);
      report.line({ username: name, deleted: true });
    },
  },
  'account invite': {
    args: [0, 0],
    run: async ({ operator, report, origin, values: { note, quota, days } }) => {
      const body = {
        ...(note !== undefined && { note }),
        ...(quota !== undefined && { quota_bytes: bytes(quota) }),
        ...(days !== undefined && { expires_in: count(days, '--days')! * 86_400 }),
      };
      const { invite, id, expires_at } = await operator.invite(checked('InvitationRequest', body));
      report.line({ invite, link: `${origin ?? ''}/#invite=${invite}`, id, expires_at });
    },
  },
  'account invitations': {
    args: [0, 0],
    run: async ({ operator, report }) => {
      const pages = (query: PageQuery) => operator.invitations(query);
      for await (const invitation of all('invitations', pages)) {
        report.line(invitation);
        report.count('invitations');
      }
    },
  },
  'account uninvite': acting('invitation ended', (operator, id) => operator.endInvitation(id)),
  'transfers list': {
    args: [0, 0],
    run: async ({ operator, report, values: { account, limit } }) => {
      const pages = (query: PageQuery) =>
        operator.transfers({ ...query, ...(account !== undefined && { account }) });
      for await (const transfer of all('transfers', pages, {}, count(limit, '--limit'))) {
        report.line(transfer);
        report.count('transfers');
      }
    },
  },
  'shares list': {
    args: [0, 0],
    run: async ({ operator, report, values: { account, limit } }) => {
      const pages = (query: PageQuery) =>
        operator.shares({ ...query, ...(account !== undefined && { account }) });
      for await (const share of all('shares', pages, {}, count(limit, '--limit'))) {
        report.line(share);
        report.count('shares');
      }
    },
  },
  'requests list': {
    args: [0, 0],
    run: async ({ operator, report, values: { account, limit } }) => {
      const pages = (query: PageQuery) =>
        operator.requests({ ...query, ...(account !== undefined && { account }) });
      for await (const request of all('requests', pages, {}, count(limit, '--limit'))) {
        report.line(request);
        report.count('requests');
      }
    },
  },
  'requests end': acting('request ended', (operator, id) => operator.endRequest(id)),
  'shares end': acting('share ended', (operator, id) => operator.endShare(id)),
  'transfers cancel': acting('upload cancelled', (operator, id) => operator.cancel(id)),
  status: {
    args: [0, 0],
    run: async ({ operator, report, nodes }) => {
      report.line(await operator.status());
      for (const { node, host, pid, version, startedAt } of nodes) {
        report.line({ node, host, pid, version, started_at: new Date(startedAt).toISOString() });
      }
    },
  },
  'read-only': {
    args: [1, 1],
    run: async ({ operator, report, args: [way = ''] }) => {
      if (way !== 'on' && way !== 'off') throw new UsageError('see szafa-server read-only --help');
      await operator.setReadOnly(way === 'on');
      // Until then a process may go by what it saw before.
      await sleep(2 * MODE_MS);
      report.line({ 'read-only': way });
    },
  },
  audit: {
    args: [0, 0],
    run: async ({ operator, report, values: { account, limit } }) => {
      const most = count(limit, '--limit') ?? limits.adminPage;
      const pages = (query: PageQuery) =>
        operator.audit({ ...query, ...(account !== undefined && { account }) });
      for await (const entry of all('entries', pages, {}, most)) {
        report.line(entry);
        report.count('entries');
      }
    },
  },
};

/** Runs a command; resolves to its exit code. */
export async function operate(
  name: OperatorCommand,
  args: string[],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const { values, positionals } = parse(args);
  if (values.help) {
    process.stdout.write(`${USAGES[name]}\n`);
    return 0;
  }
  const [first = '', ...others] = positionals;
  const hasOwn = commands[name] === undefined;
  const full = hasOwn ? `${name} ${first}` : name;
  const rest = hasOwn ? others : positionals;
  const found = commands[full];
  const [least, most] = found?.args ?? [0, 0];
  if (!found || rest.length < least || rest.length > most)
    throw new UsageError(wrongUsage(name, found ? undefined : first));
  const known = new Set<string>(['json', 'help', ...(TAKES[full] ?? [])]);
  for (const [option, value] of Object.entries(values)) {
    if (value !== false && !known.has(option)) throw new UsageError(`${full} has no option --${option}`);
  }
  const config = readConfig(env);
  const pair = await (NEEDS_VOLUMES.has(full) ? openPair(config) : openStores(config));
  const report = new Report(values.json);
  try {
    const nodes = await pair.metadata.nodes.list();
    const running = { ...config, ...nodes[0]?.settings };
    const operator = new Operator({ ...pair, config: running, actor: 'operator' });
    await found.run({ operator, nodes, origin: running.origin, report, args: rest, values });
    if (SHOWS_SETTINGS.has(full)) noteSettings(report, nodes);
    return report.end();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    report.refused(error.message);
    return 1;
  } finally {
    await pair.close();
  }
}

const wrongUsage = (name: OperatorCommand, command?: string) =>
  command
    ? `there is no command "${name} ${command}"; see szafa-server ${name} --help`
    : `see szafa-server ${name} --help`;

/** Whose settings were shown, where that is not plain. */
function noteSettings(report: Report, nodes: RunningNode[]): void {
  if (nodes.length === 0) {
    report.note('no server is running on this database; the settings shown are those of this shell');
  }
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

/** A command on one thing, that gives nothing back but how many, if anything. */
function acting(what: string, act: (operator: Operator, name: string) => Promise<unknown>) {
  const run: Command = async ({ operator, report, args: [name = ''] }) => {
    report.line({ name, [what]: (await act(operator, name)) ?? true });
  };
  return { args: [1, 1] as [number, number], run };
}

/** Page by page, up to so many. */
async function* all<Name extends string, T>(
  name: Name,
  list: (query: PageQuery) => Promise<Page<Name, T>>,
  from: PageQuery = {},
  most = Number.POSITIVE_INFINITY,
): AsyncGenerator<T> {
  let left = most;
  let query: PageQuery | undefined = from;
  while (query && left > 0) {
    const limit = String(Math.min(left, limits.listPage));
    const page: Page<Name, T> = await list({ ...query, limit });
    yield* page[name];
    left -= page[name].length;
    query = page.next_cursor === undefined ? undefined : { cursor: page.next_cursor };
  }
}

const own = (text: string) => (text === 'default' ? null : bytes(text));

const UNITS: Record<string, number> = { '': 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3, T: 1024 ** 4 };
function bytes(text: string): number {
  const [, digits = '', unit = ''] = /^(\d{1,16})([KMGT]?)$/i.exec(text) ?? [];
  const value = digits === '' ? Number.NaN : Number(digits) * UNITS[unit.toUpperCase()]!;
  if (!Number.isSafeInteger(value)) throw new UsageError(`${text} is not a number, or one with K, M, G or T`);
  return value;
}

function count(text: string | undefined, option: string): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`${option} must be a whole number, at least 1`);
  return Number(text);
}
