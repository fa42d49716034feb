import { judgeAccel } from './accel.ts';
import { judgeAccounts } from './accounts.ts';
import { judgeAgain } from './again.ts';
import { judgeClients } from './clients/judge.ts';
import { judgeLink } from './link.ts';
import { judgePage } from './page.ts';
import type { PeerName } from './peers/peer.ts';
import { ratio } from './ratios.ts';
import type { Goal, Results, VolumeResult } from './results.ts';

/** Tolerance for two medians that should be equal. Code that reads every record or volume would exceed it many times over. */
const sameTime = (ms: number) => 1.5 * ms + 0.1;
const MEMORY_BYTES = 300e6;

/** Judges the performance goals by the results of this run alone. */
export function judge(results: Results): Goal[] {
  const cell = (name: string) => results.volumes.find((result) => result.cell === name);
  return [
    atLeast(
      'PUT 8 MiB, 8 connections, durable: at least 0.7 of nginx',
      cell('volumes-8m-8'),
      'put',
      'nginx',
      0.7,
    ),
    aheadOfTus(results.volumes),
    atLeast(
      'GET 8 MiB, 8 connections: at least 0.5 of nginx sendfile',
      cell('volumes-8m-8'),
      'get',
      'nginx',
      0.5,
    ),
    atLeast('GET 8 MiB, 8 connections: ahead of @tus/server', cell('volumes-8m-8'), 'get', 'tus', 1),
    atLeast(
      'GET 8 MiB, 8 connections: ahead of rclone serve restic',
      cell('volumes-8m-8'),
      'get',
      'rclone',
      1,
    ),
    memory(cell('volumes-64m-64')),
    complete(results),
    ...flat(results),
    chunks(results),
    ...judgeAccel(results.accel),
    ...scale(results),
    ...judgeClients(results.clients),
    judgeAgain(results.again),
    judgeLink(results.link),
    ...judgePage(results.page),
    ...judgeAccounts(results.accounts),
  ];
}

function goal(text: string, passed: boolean | undefined, detail: string): Goal {
  return { text, verdict: passed === undefined ? 'not measured' : passed ? 'pass' : 'FAIL', detail };
}

function atLeast(
  text: string,
  result: VolumeResult | undefined,
  flow: 'put' | 'get',
  peer: PeerName,
  least: number,
): Goal {
  const value = result && ratio(result, flow === 'put' ? 'durable' : 'get', peer);
  if (value === undefined) return goal(text, undefined, '');
  return goal(text, value >= least, `${value.toFixed(2)}`);
}

function aheadOfTus(volumes: VolumeResult[]): Goal {
  const text = 'PUT durable: ahead of @tus/server in every cell';
  const ratios = volumes.flatMap((result) => {
    const value = ratio(result, 'durable', 'tus');
    return value === undefined ? [] : [{ cell: result.cell, value }];
  });
  const lowest = ratios.toSorted((a, b) => a.value - b.value)[0];
  if (!lowest) return goal(text, undefined, '');
  // A cell in which one of the two failed must not count as a win.
  const silent = volumes.length - ratios.length;
  const detail = `lowest ${lowest.value.toFixed(2)} (${lowest.cell}), ${ratios.length} cells`;
  return goal(
    text,
    silent === 0 && lowest.value > 1,
    silent ? `${detail}, ${silent} without a figure` : detail,
  );
}

function memory(result: VolumeResult | undefined): Goal {
  const text = '64 uploads of 64 MiB at once: under 300 MB for each worker';
  const rounds = result?.peers.szafa ?? [];
  const peaks = rounds.flatMap((round) => ('failure' in round ? [] : round.put.peakBytes));
  if (peaks.length === 0) return goal(text, rounds.length > 0 ? false : undefined, '');
  const most = Math.max(...peaks);
  return goal(text, most < MEMORY_BYTES, `${(most / 1e6).toFixed(0)} MB`);
}

function complete({ transfers }: Results): Goal {
  const text = 'complete with 10,000 volumes: within twice that with 100, plus the directory read';
  const few = transfers.find(({ volumes }) => volumes === 100);
  const many = transfers.find(({ volumes }) => volumes === 10_000);
  if (!few || !many) return goal(text, undefined, '');
  const allowed = 2 * few.completeMs + many.readdirMs;
  return goal(text, many.completeMs <= allowed, `${many.completeMs.toFixed(1)} of ${allowed.toFixed(1)} ms`);
}

function flat({ growth }: Results): Goal[] {
  const few = growth.find(({ files }) => files === 10);
  const many = growth.find(({ files }) => files === 100_000);
  const questions = [
    { name: 'quota', key: 'quotaMs' },
    { name: 'auth', key: 'meMs' },
  ] as const;
  return questions.map(({ name, key }) => {
    const text = `${name} does not grow from 10 to 100,000 files`;
    if (!few || !many) return goal(text, undefined, '');
    return goal(
      text,
      many[key] <= sameTime(few[key]),
      `${few[key].toFixed(2)} -> ${many[key].toFixed(2)} ms`,
    );
  });
}

function chunks({ chunks }: Results): Goal {
  const text = 'PUT does not grow with chunk_count (1 to 10,000)';
  const [one, many] = chunks;
  if (!one || !many) return goal(text, undefined, '');
  return goal(
    text,
    many.putMs <= sameTime(one.putMs),
    `${one.putMs.toFixed(2)} -> ${many.putMs.toFixed(2)} ms`,
  );
}

function scale({ scale: results }: Results): Goal[] {
  return results.map(({ question, unit, reference, measured, ratio, bound, detail }) => {
    const [word, passed] = unit === 'ms' ? ['at most', ratio <= bound] : ['at least', ratio >= bound];
    const figures = `${ratio.toFixed(2)} (${measured.toFixed(0)} / ${reference.toFixed(0)} ${unit})`;
    return goal(`${question}: ${word} ${bound}`, passed, detail === '' ? figures : `${figures}, ${detail}`);
  });
}
