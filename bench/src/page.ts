import {
  type BareWay,
  bareWays,
  type Goal,
  type PageResult,
  type PageRound,
  type PageTrip,
} from './results.ts';
import { median } from './stats.ts';

type GoodRound = Exclude<PageRound, { failure: string }>;

const LEAST_RATIO = 0.8;
const LEAST_OF_BARE = 0.9;
const KEY_MS = 100;
/** Allowed growth of memory for twice the bytes. Garbage collection alone explains this much. */
const FLAT = 1.25;

function goodRounds({ rounds }: PageResult): GoodRound[] {
  return rounds.filter((round): round is GoodRound => !('failure' in round));
}

function ratioOf(rounds: GoodRound[]): number {
  return median(rounds.map(({ page, commandMbps }) => page.mbps / commandMbps));
}

function ratioToBare(rounds: GoodRound[], way: BareWay): number {
  return median(rounds.map(({ page, bare }) => page.mbps / bare[way].mbps));
}

export function pageRows(result: PageResult): string[][] {
  const rounds = goodRounds(result);
  const mid = (value: (round: GoodRound) => number) => median(rounds.map(value));
  return [
    [
      `${result.bytes / 2 ** 20} MiB`,
      ratioOf(rounds).toFixed(2),
      mid(({ page }) => page.mbps).toFixed(0),
      mid(({ commandMbps }) => commandMbps).toFixed(0),
      mid(({ keyMs }) => keyMs.median).toFixed(0),
      Math.max(...rounds.map(({ keyMs }) => keyMs.worst)).toFixed(0),
      (mid(({ tabBytes }) => tabBytes.half) / 1e6).toFixed(0),
      (mid(({ tabBytes }) => tabBytes.whole) / 1e6).toFixed(0),
    ],
  ];
}

/** Compares the web app with the bare page, including the CPU time of browser and server. */
export function bareRows(result: PageResult): string[][] {
  const rounds = goodRounds(result);
  const row = (name: string, ratio: string, trip: (round: GoodRound) => PageTrip) => {
    const mid = (value: (trip: PageTrip) => number) => median(rounds.map((round) => value(trip(round))));
    return [
      name,
      ratio,
      mid(({ mbps }) => mbps).toFixed(0),
      mid(({ browserCpuPerGb }) => browserCpuPerGb).toFixed(2),
      mid(({ serverCpuPerGb }) => serverCpuPerGb).toFixed(2),
    ];
  };
  return [
    row('the web app', '', ({ page }) => page),
    ...bareWays.map((way) =>
      row(`a bare page, ${way}`, ratioToBare(rounds, way).toFixed(2), ({ bare }) => bare[way]),
    ),
  ];
}

export function pageFailures({ rounds }: PageResult): string[] {
  return rounds.flatMap((round) => ('failure' in round ? [round.failure] : []));
}

export function judgePage(results: PageResult[]): Goal[] {
  const rounds = results.flatMap(goodRounds);
  const failed = results.flatMap(pageFailures).length > 0;
  const goal = (text: string, passed: boolean, detail: string): Goal => {
    if (rounds.length === 0) return { text, verdict: failed ? 'FAIL' : 'not measured', detail: '' };
    return { text, verdict: passed && !failed ? 'pass' : 'FAIL', detail };
  };
  const ratio = ratioOf(rounds);
  const toBare = bareWays.map((way) => ({ way, ratio: ratioToBare(rounds, way) }));
  const worst = Math.max(...rounds.map(({ keyMs }) => keyMs.worst));
  const [half, whole] = (['half', 'whole'] as const).map((part) =>
    median(rounds.map(({ tabBytes }) => tabBytes[part])),
  ) as [number, number];
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(0);
  return [
    goal(
      `the web app, 1 GiB up: at least ${LEAST_RATIO} of the command`,
      ratio >= LEAST_RATIO,
      ratio.toFixed(2),
    ),
    goal(
      `the web app, 1 GiB up: at least ${LEAST_OF_BARE} of a bare page`,
      toBare.every((one) => one.ratio >= LEAST_OF_BARE),
      toBare.map((one) => `${one.ratio.toFixed(2)} (${one.way})`).join(', '),
    ),
    goal(
      `the web app answers a key within ${KEY_MS} ms meanwhile`,
      worst <= KEY_MS,
      `worst ${worst.toFixed(0)} ms`,
    ),
    goal(
      'the memory of the tab is flat, 512 MiB to 1 GiB',
      whole <= FLAT * half,
      `${megabytes(half)} -> ${megabytes(whole)} MB`,
    ),
  ];
}
