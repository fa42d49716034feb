import type { ClientResult, ClientRound, Goal, Trip } from '../results.ts';
import { median } from '../stats.ts';
import { type ClientName, clientNames } from './client.ts';

type Way = 'up' | 'down';
type GoodRound = { up: Trip; down: Trip };

const isGood = (round: ClientRound | undefined): round is GoodRound =>
  round !== undefined && !('failure' in round);

const MEMORY_BYTES = 250e6;

/** Returns szafa / other as the median of the ratios of each round. */
function ratio(result: ClientResult, way: Way, other: ClientName): number | undefined {
  const mine = result.clients.szafa ?? [];
  const theirs = result.clients[other] ?? [];
  const ratios = mine.flatMap((round, at) => {
    const peer = theirs[at];
    return isGood(round) && isGood(peer) ? [round[way].mbps / peer[way].mbps] : [];
  });
  return ratios.length === 0 ? undefined : median(ratios);
}

function medianOf(
  result: ClientResult,
  name: ClientName,
  value: (round: GoodRound) => number,
): number | undefined {
  const rounds = (result.clients[name] ?? []).filter(isGood);
  return rounds.length === 0 ? undefined : median(rounds.map(value));
}

/** The least ratio for each load and each program compared with. */
const LINES: [load: RegExp, other: ClientName, way: Way, least: number][] = [
  [/1 GiB/, 'restic', 'up', 1],
  [/1 GiB/, 'restic', 'down', 1],
  [/1 GiB/, 'rclone crypt', 'up', 2.5],
  [/1 GiB/, 'rclone crypt', 'down', 1],
  [/1 GiB/, 'age + curl', 'up', 1.15],
  [/1 GiB/, 'age + curl', 'down', 1.3],
  [/64 KiB/, 'rclone crypt', 'up', 10],
  [/64 KiB/, 'rclone crypt', 'down', 10],
  [/64 KiB/, 'restic', 'up', 0.9],
  [/64 KiB/, 'restic', 'down', 0.9],
];

function goal(
  text: string,
  value: number | undefined,
  reaches: (value: number) => boolean,
  detail: string | undefined,
): Goal {
  if (value === undefined) return { text, verdict: 'not measured', detail: '' };
  return { text, verdict: reaches(value) ? 'pass' : 'FAIL', detail: detail ?? '' };
}

export function judgeClients(results: ClientResult[]): Goal[] {
  const goals = LINES.map(([load, other, way, least]): Goal => {
    const result = results.find((candidate) => load.test(candidate.load));
    const value = result && ratio(result, way, other);
    const text = `${result?.load ?? load.source}, ${way}: at least ${least} of ${other}`;
    return goal(text, value, (reached) => reached >= least, value?.toFixed(2));
  });
  const sizes = ['1 GiB', '4 GiB'].map((size) => results.find(({ load }) => load.includes(size)));
  const [one, four] = sizes.map((result) => result && medianOf(result, 'szafa', ({ up }) => up.mbps));
  const share = one !== undefined && four !== undefined ? four / one : undefined;
  goals.push(
    goal(
      // There is no upper limit: the larger file may be faster, because login and key derivation take the same time for both.
      '4 GiB, up: at least 0.9 of 1 GiB',
      share,
      (value) => value >= 0.9,
      share?.toFixed(2),
    ),
  );
  const peaks = sizes.flatMap((result) => {
    const peak =
      result && medianOf(result, 'szafa', ({ up, down }) => Math.max(up.peakBytes, down.peakBytes));
    return peak === undefined ? [] : [peak];
  });
  const peak = peaks.length > 0 ? Math.max(...peaks) : undefined;
  const shown = peak === undefined ? undefined : `${(peak / 1e6).toFixed(0)} MB`;
  goals.push(
    goal('1 and 4 GiB: memory of the command under 250 MB', peak, (value) => value < MEMORY_BYTES, shown),
  );
  return goals;
}

/** Formats the table of one load: ratio, rate, CPU time and memory of each client. */
export function clientRows(result: ClientResult): { header: string[]; rows: string[][] } {
  const shown = (value: number | undefined, digits: number) => value?.toFixed(digits) ?? '-';
  return {
    header: [
      'client',
      'szafa / it, up',
      'down',
      'up MB/s',
      'down MB/s',
      'CPU s/GB up',
      'down',
      'peak MB up',
      'down',
    ],
    rows: clientNames.map((name) => [
      name,
      ...(['up', 'down'] as const).map((way) => shown(ratio(result, way, name), 2)),
      ...(['up', 'down'] as const).map((way) =>
        shown(
          medianOf(result, name, (round) => round[way].mbps),
          0,
        ),
      ),
      ...(['up', 'down'] as const).map((way) =>
        shown(
          medianOf(result, name, (round) => round[way].cpuPerGb),
          2,
        ),
      ),
      ...(['up', 'down'] as const).map((way) =>
        shown(
          medianOf(result, name, (round) => round[way].peakBytes / 1e6),
          0,
        ),
      ),
    ]),
  };
}

export function clientFailures(results: ClientResult[]): string[][] {
  return results.flatMap((result) =>
    clientNames.flatMap((name) =>
      (result.clients[name] ?? []).flatMap((round) =>
        'failure' in round ? [[result.load, name, round.failure]] : [],
      ),
    ),
  );
}
