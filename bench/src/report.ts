import { accelRow } from './accel.ts';
import { accountsRow } from './accounts.ts';
import { againRow } from './again.ts';
import { clientFailures, clientRows } from './clients/judge.ts';
import { linkRow } from './link.ts';
import { bareRows, pageFailures, pageRows } from './page.ts';
import { type PeerName, peerNames } from './peers/peer.ts';
import { failures, medianOf, medianPeaks, medianRate, type Rate, ratio } from './ratios.ts';
import type {
  AccelResult,
  AccountsResult,
  AgainResult,
  ClientResult,
  Goal,
  LinkResult,
  PageResult,
  Results,
  VolumeResult,
} from './results.ts';

const titles: Record<PeerName, string> = {
  szafa: 'szafa',
  nginx: 'nginx',
  tus: '@tus/server',
  rclone: 'rclone restic',
};

/** Formats the results as Markdown that is also readable on a terminal. */
export function report(results: Results, goals: Goal[]): string {
  const { machine, rounds } = results;
  const size = `${machine.cores} cores, ${machine.memoryGiB} GiB, ${machine.filesystem}`;
  return [
    `${machine.cpu}, ${size}, Linux ${machine.kernel}, Node ${machine.node}; rounds: ${rounds}`,
    ...volumeSections(results.volumes),
    ...otherSections(results),
    ...accelSections(results.accel),
    ...clientSections(results.clients),
    ...againSections(results.again),
    ...linkSections(results.link),
    ...pageSections(results.page),
    ...accountsSections(results.accounts),
    ...results.failed.map(({ cell, why }) => `Failed: ${cell}: ${why}`),
    ...(goals.length > 0 ? [goalSection(goals)] : []),
  ].join('\n\n');
}

function goalSection(goals: Goal[]): string {
  const rows = goals.map(({ verdict, text, detail }) => [verdict, text, detail]);
  return section('Must reach', ['', 'line', 'figure'], rows);
}

function volumeSections(volumes: VolumeResult[]): string[] {
  if (volumes.length === 0) return [];
  const present = peerNames.filter((name) => volumes.some((result) => result.peers[name]));
  const peers = present.filter((name) => name !== 'szafa');
  const rates = (title: string, rate: Rate) =>
    section(
      title,
      ['cell', ...peers.map((name) => `/ ${titles[name]}`), ...present.map((name) => `${titles[name]} MB/s`)],
      volumes.map((result) => [
        label(result),
        ...peers.map((name) => shown(ratio(result, rate, name), 2)),
        ...present.map((name) => shown(medianRate(result, rate, name), 0)),
      ]),
    );
  const per = (title: string, value: Parameters<typeof medianOf>[2], digits: number) =>
    section(
      title,
      ['cell', ...present.map((name) => titles[name])],
      volumes.map((result) => [
        label(result),
        ...present.map((name) => shown(medianOf(result, name, value), digits)),
      ]),
    );
  const memory = (title: string, flow: 'put' | 'get') =>
    section(
      title,
      ['cell', ...present.map((name) => titles[name])],
      volumes.map((result) => [
        label(result),
        ...present.map((name) =>
          medianPeaks(result, name, flow)
            .map((peak) => (peak / 1e6).toFixed(0))
            .join(' '),
        ),
      ]),
    );
  const failed = volumes.flatMap((result) =>
    present.flatMap((name) => failures(result, name).map((why) => [label(result), titles[name], why])),
  );
  return [
    rates('PUT until the bytes are on disk: szafa (verified) / peer (unchecked)', 'durable'),
    rates('PUT until the last answer: szafa (verified and durable) / peer (neither)', 'answered'),
    rates('GET from the page cache: szafa / peer', 'get'),
    per('CPU seconds a GB, PUT', ({ put }) => put.cpuPerGb, 2),
    per('CPU seconds a GB, GET', ({ get }) => get.cpuPerGb, 2),
    memory('Peak memory in MB of each process, PUT', 'put'),
    memory('Peak memory in MB of each process, GET', 'get'),
    ...(failed.length > 0 ? [section('Failures', ['cell', 'server', 'why'], failed)] : []),
  ];
}

function accelSections(results: AccelResult[]): string[] {
  if (results.length === 0) return [];
  const header = ['cell', '/ nginx alone', 'MB/s', 'nginx alone MB/s', 'CPU s a GB in the node'];
  return [
    section('GET through nginx, which sends the volumes itself (SZ_ACCEL)', header, results.map(accelRow)),
  ];
}

function clientSections(clients: ClientResult[]): string[] {
  const failed = clientFailures(clients);
  return [
    ...clients.map((result) => {
      const { header, rows } = clientRows(result);
      return section(`Clients: ${result.load}, until the bytes are on disk`, header, rows);
    }),
    ...(failed.length > 0 ? [section('Failures of clients', ['load', 'client', 'why'], failed)] : []),
  ];
}

function againSections(results: AgainResult[]): string[] {
  if (results.length === 0) return [];
  return [section('szafa put once more, with nothing to do', ['files', 'seconds'], results.map(againRow))];
}

function linkSections(results: LinkResult[]): string[] {
  if (results.length === 0) return [];
  const header = ['file', "link / owner's own", 'link MB/s', 'own MB/s'];
  return [section('szafa get through a link, until the bytes are on disk', header, results.map(linkRow))];
}

function accountsSections(results: AccountsResult[]): string[] {
  const [first] = results;
  if (!first) return [];
  const shownSide = ({ accounts, files }: AccountsResult['few']) =>
    `${files.toLocaleString('en')} files of ${accounts.toLocaleString('en')} accounts, ms`;
  const header = ['question', shownSide(first.few), shownSide(first.many), 'ratio', 'pages', 'pages'];
  return [section('PostgreSQL, by the number of files', header, results.map(accountsRow))];
}

function otherSections({ small, transfers, growth, chunks }: Results): string[] {
  const sections: string[] = [];
  if (small.length > 0) {
    sections.push(
      section(
        `Small requests, ${small[0]!.connections} connections`,
        ['request', 'a second', 'p50 ms', 'p99 ms'],
        small.map((row) => [row.request, shown(row.perSecond, 0), shown(row.p50Ms, 2), shown(row.p99Ms, 2)]),
      ),
    );
  }
  if (transfers.length > 0) {
    sections.push(
      section(
        'Transfers',
        ['volumes', 'init ms', 'complete ms', 'directory read alone, ms'],
        transfers.map((row) => [
          row.volumes.toLocaleString('en'),
          ...[row.initMs, row.completeMs, row.readdirMs].map((ms) => shown(ms, 1)),
        ]),
      ),
    );
  }
  if (chunks.length > 0) {
    sections.push(
      section(
        'PUT of one volume of 4 KiB, by the number of volumes of its transfer',
        ['chunk_count', 'PUT ms'],
        chunks.map((row) => [row.chunkCount.toLocaleString('en'), shown(row.putMs, 2)]),
      ),
    );
  }
  if (growth.length > 0) {
    sections.push(
      section(
        'By the number of files',
        ['files', 'whole list ms', 'list MB', 'page of 100 ms', 'quota ms', 'auth/me ms'],
        growth.map((row) => [
          row.files.toLocaleString('en'),
          shown(row.listMs, 1),
          shown(row.listBytes / 1e6, 2),
          ...[row.pageMs, row.quotaMs, row.meMs].map((ms) => shown(ms, 2)),
        ]),
      ),
    );
  }
  return sections;
}

function pageSections(results: PageResult[]): string[] {
  return results.flatMap((result) => [
    section(
      'The web app: one file up',
      ['file', 'page / command', 'page MB/s', 'command MB/s', 'key ms', 'worst', 'tab MB, half of it', 'all'],
      pageRows(result),
    ),
    section(
      'The web app beside a page that does only what it must',
      ['page', 'web app / it', 'MB/s', 'CPU s a GB in the browser', 'in the server'],
      bareRows(result),
    ),
    ...pageFailures(result).map((failure) => `Failed: the web app: ${failure}`),
  ]);
}

function label({ volumeBytes, connections }: VolumeResult): string {
  return `${volumeBytes / 2 ** 20} MiB x ${connections}`;
}

function shown(value: number | undefined, digits: number): string {
  return value === undefined ? '-' : value.toFixed(digits);
}

function section(title: string, header: string[], rows: string[][]): string {
  const widths = header.map((cell, at) =>
    Math.max(cell.length, 3, ...rows.map((row) => row[at]?.length ?? 0)),
  );
  const line = (cells: string[]) => `| ${cells.map((cell, at) => cell.padEnd(widths[at]!)).join(' | ')} |`;
  return [
    `### ${title}`,
    '',
    line(header),
    line(widths.map((width) => '-'.repeat(width))),
    ...rows.map(line),
  ].join('\n');
}
