/** Formats and judges the results of the link cell. */
import type { Goal, LinkResult } from './results.ts';
import { median } from './stats.ts';

const LEAST_RATIO = 0.95;

const ratioOf = ({ rounds }: LinkResult): number => median(rounds.map(({ own, link }) => link / own));

export function judgeLink([result]: LinkResult[]): Goal {
  const text = `download through a link: at least ${LEAST_RATIO} of the owner's own`;
  if (!result) return { text, verdict: 'not measured', detail: '' };
  const ratio = ratioOf(result);
  return { text, verdict: ratio >= LEAST_RATIO ? 'pass' : 'FAIL', detail: ratio.toFixed(2) };
}

export function linkRow(result: LinkResult): string[] {
  const { bytes, rounds } = result;
  return [
    `${bytes / 2 ** 20} MiB`,
    ratioOf(result).toFixed(2),
    median(rounds.map(({ link }) => link)).toFixed(0),
    median(rounds.map(({ own }) => own)).toFixed(0),
  ];
}
