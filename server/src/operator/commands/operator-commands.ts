/** The commands for accounts, uploads, shares, read-only mode and the audit log. They work on the database of a running server. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { parseArgs } from 'node:util';
import { type LimitName, type LimitsChange, limitNames, limits, type PageQuery } from '@szafa/protocol';
import { formatBytes, parseBytes } from '../../platform/bytes.ts';
import { validatorOf } from '../../platform/http/compilers.ts';
import { MODE_MS } from '../mode.ts';
import type { RunningNode } from '../nodes-table.ts';
import type { Operator, Page } from '../operator.ts';
import { CONTESTED, type Report, UsageError } from './report.ts';
import { type Columns, formatTime } from './text.ts';

export const text = { type: 'string' } as const;
export const flag = { type: 'boolean', default: false } as const;
export const options = {
  ...{ json: flag, help: flag, yes: flag },
  ...{ limit: text, after: text, account: text, note: text, quota: text, days: text },
  ...{ 'open-transfers': text, 'open-volumes': text, pulls: text, 'login-attempts': text },
  ...{ 'upload-rate': text, 'download-rate': text },
} as const;
type Options = ReturnType<typeof parseArgs<{ options: typeof options }>>['values'];

interface Run {
  operator: Operator;
  /** Nodes running now. */
  nodes: RunningNode[];
  /** SZ_ORIGIN */
  origin: string | undefined;
  report: Report;
  args: string[];
  values: Options;
}

interface Command {
  args: [least: number, most: number];
  /** Options accepted in addition to --json and --help. */
  options?: (keyof Options)[];
  /** Commands without this also work while the volume store is unavailable. */
  needsVolumes?: true;
  /** The command shows settings: those of the running server, not of this shell. */
  showsSettings?: true;
  run: (run: Run) => Promise<void>;
}

const LIMIT_OPTIONS = limitNames
  .filter((name) => name !== 'quota_bytes')
  .map((name) => name.replaceAll('_', '-') as keyof Options);

export const commands: Record<string, Command> = {
  'account list': {
    ...list('accounts', (operator, query) => operator.listAccounts(query), {
      NAME: ({ username }) => username,
      FILES: ({ files }) => files,
      USED: ({ used_bytes }) => ({ bytes: used_bytes }),
      QUOTA: ({ quota_bytes }) => ({ bytes: quota_bytes }),
      CREATED: ({ created_at }) => formatTime(created_at),
      DISABLED: ({ disabled_at }) => (disabled_at === null ? '' : formatTime(disabled_at)),
    }),
    options: ['limit', 'after'],
    showsSettings: true,
  },
  'account show': {
    args: [1, 1],
    showsSettings: true,
    run: async ({ operator, report, args: [name = ''] }) => report.details(await operator.showAccount(name)),
  },
  'account quota': {
    args: [1, 2],
    showsSettings: true,
    run: async ({ operator, report, args: [name = '', size] }) => {
      const account =
        size === undefined
          ? await operator.showAccount(name)
          : await operator.limitAccount(name, validate('LimitsChange', { quota_bytes: limitValue(size) }));
      const { username, used_bytes, quota_bytes } = account;
      const enforced = (await operator.status()).quota_enforced ? 'yes' : 'no';
      report.details({
        username,
        used_bytes,
        quota_bytes,
        own: account.limits.quota_bytes !== null,
        enforced,
      });
    },
  },
  'account limits': {
    args: [1, 1],
    options: LIMIT_OPTIONS,
    run: async ({ operator, report, args: [name = ''], values }) => {
      const change: Partial<Record<LimitName, number | null>> = {};
      for (const limit of limitNames) {
        const value = values[limit.replaceAll('_', '-') as keyof Options];
        if (typeof value === 'string') change[limit] = limitValue(value);
      }
      const isEmpty = Object.keys(change).length === 0;
      const account = isEmpty
        ? await operator.showAccount(name)
        : await operator.limitAccount(name, validate<LimitsChange>('LimitsChange', change));
      report.details({ username: account.username, limits: account.limits });
    },
  },
  'account disable': act(
    (operator, name) => operator.setDisabled(name, true),
    'disabled',
    'is disabled; "szafa-server account enable" undoes this',
  ),
  'account enable': act((operator, name) => operator.setDisabled(name, false), 'enabled', 'is enabled'),
  'account logout': act(
    (operator, name) => operator.logoutAccount(name),
    'sessions ended',
    (ended) => `is logged out: ${ended} sessions and tokens ended`,
  ),
  'account factor-off': act(
    (operator, name) => operator.endAccountFactor(name),
    'was on',
    (wasOn) => (wasOn ? 'now logs in with the password only' : 'had no second factor'),
  ),
  'account delete': {
    args: [1, 1],
    options: ['yes'],
    needsVolumes: true,
    run: async ({ operator, report, args: [name = ''], values }) => {
      if (!values.yes) {
        const { files, used_bytes } = await operator.showAccount(name);
        const what = `${name} with ${files} files (${formatBytes(used_bytes)})`;
        throw new UsageError(`this deletes ${what} for good; to do so, repeat the command with --yes`);
      }
      await operator.deleteAccount(name);
      report.result({ username: name, deleted: true }, `${name} and all its files are deleted`);
    },
  },
  'account invite': {
    args: [0, 0],
    options: ['note', 'quota', 'days'],
    showsSettings: true,
    run: async ({ operator, report, origin, values: { note, quota, days } }) => {
      const body = {
        ...(note !== undefined && { note }),
        ...(quota !== undefined && { quota_bytes: bytes(quota) }),
        ...(days !== undefined && { expires_in: count(days, '--days')! * 86_400 }),
      };
      const { invite, id, expires_at } = await operator.invite(validate('InvitationRequest', body));
      report.details({ invite, link: `${origin ?? ''}/#invite=${invite}`, id, expires_at });
      report.hint('send the link to one person; it works once and is not shown again');
      if (origin === undefined) report.hint("put the server's address before the link, or set SZ_ORIGIN");
    },
  },
  'account invitations': {
    ...list('invitations', (operator, query) => operator.listInvitations(query), {
      ID: ({ id }) => id,
      EXPIRES: ({ expires_at }) => formatTime(expires_at),
      QUOTA: ({ quota_bytes }) => (quota_bytes === null ? 'default' : { bytes: quota_bytes }),
      NOTE: ({ note }) => note,
    }),
    options: [],
  },
  'account uninvite': act(
    (operator, id) => operator.end('invitation', id),
    'invitation ended',
    'is withdrawn',
  ),
  'transfers list': list('transfers', (operator, query) => operator.listTransfers(query), {
    ID: ({ file_id }) => file_id,
    ACCOUNT: ({ creator }) => creator,
    STATUS: ({ status }) => status,
    SIZE: ({ stored_size }) => ({ bytes: stored_size }),
    VOLUMES: ({ chunk_count }) => chunk_count,
    'LAST USED': ({ touched_at }) => formatTime(touched_at),
  }),
  'transfers cancel': {
    ...act((operator, id) => operator.cancelTransfer(id), 'upload cancelled', 'is cancelled'),
    needsVolumes: true,
  },
  'shares list': list('shares', (operator, query) => operator.listAllShares(query), {
    ID: ({ id }) => id,
    OWNER: ({ owner }) => owner,
    TO: ({ to }) => to ?? '(link)',
    FILES: ({ files }) => files,
    DOWNLOADS: ({ downloads, downloaded }) =>
      downloads === null ? downloaded : `${downloaded} of ${downloads}`,
    CREATED: ({ created_at }) => formatTime(created_at),
    EXPIRES: ({ expires_at }) => (expires_at === null ? 'never' : formatTime(expires_at)),
  }),
  'shares end': act((operator, id) => operator.end('share', id), 'share ended', 'is ended'),
  'requests list': list('requests', (operator, query) => operator.listAllRequests(query), {
    ID: ({ id }) => id,
    OWNER: ({ owner }) => owner,
    FILES: ({ delivered, max_files }) => `${delivered} of ${max_files}`,
    SIZE: ({ delivered_bytes }) => ({ bytes: delivered_bytes }),
    'AT MOST': ({ max_bytes }) => ({ bytes: max_bytes }),
    CREATED: ({ created_at }) => formatTime(created_at),
    EXPIRES: ({ expires_at }) => (expires_at === null ? 'never' : formatTime(expires_at)),
  }),
  'requests end': act((operator, id) => operator.end('request', id), 'request ended', 'is ended'),
  status: {
    args: [0, 0],
    showsSettings: true,
    run: async ({ operator, report, nodes }) => {
      const status = await operator.status();
      report.details(status);
      const addNode = report.table<Omit<RunningNode, 'settings' | 'startedAt'> & { started_at: string }>({
        NODE: ({ node }) => node,
        HOST: ({ host }) => host,
        PID: ({ pid }) => pid,
        VERSION: ({ version }) => version,
        STARTED: ({ started_at }) => formatTime(started_at),
      });
      for (const { node, host, pid, version, startedAt } of nodes)
        addNode({ node, host, pid, version, started_at: new Date(startedAt).toISOString() });
      const { read_only_since, contested_since, orphans, scrub } = status;
      if (read_only_since !== null)
        report.hint('writes are refused; to allow them: szafa-server read-only off');
      if (contested_since !== null) report.hint(CONTESTED);
      if (orphans > 0) report.hint('volume groups belong to no file; see szafa-server orphans --help');
      if (scrub.faults > 0) report.hint('volumes are missing or damaged; for their files: szafa-server fsck');
    },
  },
  'read-only': {
    args: [1, 1],
    run: async ({ operator, report, args: [mode = ''] }) => {
      if (mode !== 'on' && mode !== 'off') throw new UsageError('see szafa-server read-only --help');
      await operator.setReadOnly(mode === 'on');
      // Waits until every process has read the new mode.
      await sleep(2 * MODE_MS);
      const next =
        mode === 'on' ? 'refused. To allow them again: szafa-server read-only off' : 'allowed again';
      report.result({ 'read-only': mode }, `writes are ${next}`);
    },
  },
  audit: list('entries', (operator, query) => operator.audit(query), {
    TIME: ({ at }) => formatTime(at),
    BY: ({ actor }) => actor,
    ACCOUNT: ({ account }) => account,
    ACTION: ({ action }) => action,
    DETAIL: ({ detail }) => detail,
  }),
};

/** Builds a command that changes one thing. `key` names the result in JSON. */
function act<T>(
  change: (operator: Operator, name: string) => Promise<T>,
  key: string,
  outcome: string | ((result: T) => string),
): Command {
  return {
    args: [1, 1],
    run: async ({ operator, report, args: [name = ''] }) => {
      const result = await change(operator, name);
      const text = typeof outcome === 'string' ? outcome : outcome(result);
      report.result({ name, [key]: result ?? true }, `${name} ${text}`);
    },
  };
}

/** Number of rows shown without --limit; lists not named here show all. */
const USUAL_ROWS: Record<string, number> = { entries: limits.adminPage };

/** Builds a command that shows a list. */
function list<Name extends string, T extends object>(
  name: Name,
  read: (operator: Operator, query: PageQuery) => Promise<Page<Name, T>>,
  columns: Columns<T>,
): Command {
  return {
    args: [0, 0],
    options: ['account', 'limit'],
    run: async ({ operator, report, values: { account, limit, after } }) => {
      const addRow = report.table(columns);
      let left = count(limit, '--limit') ?? USUAL_ROWS[name] ?? Number.POSITIVE_INFINITY;
      let cursor = after;
      do {
        const page = await read(operator, {
          limit: String(Math.min(left, limits.listPage)),
          ...(cursor !== undefined && { cursor }),
          ...(account !== undefined && { account }),
        });
        for (const row of page[name]) {
          addRow(row);
          report.count(name);
        }
        left -= page[name].length;
        cursor = page.next_cursor;
      } while (cursor !== undefined && left > 0);
    },
  };
}

/** Validates with the same schema as the routes. */
function validate<T>(schema: string, value: unknown): T {
  const isValid = validatorOf<T>(schema);
  if (isValid(value)) return value;
  const [first] = isValid.errors!;
  const where = first!.instancePath.replace('/', '').replaceAll('_', '-');
  throw new UsageError(`${where}: ${first!.message}`);
}

const limitValue = (text: string) => (text === 'default' ? null : bytes(text));

function bytes(text: string): number {
  const value = parseBytes(text);
  if (value === undefined)
    throw new UsageError(`${text} is not a size; use a number, or one with K, M, G or T`);
  return value;
}

function count(text: string | undefined, option: string): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new UsageError(`${option} must be a whole number, at least 1`);
  return Number(text);
}
