import type { AgainResult, Goal } from './results.ts';
import { median } from './stats.ts';

const MOST_SECONDS = 1.5;

export function judgeAgain(results: AgainResult[]): Goal {
  const text = `5,000 small files put again, with nothing to do: under ${MOST_SECONDS} s`;
  const [result] = results;
  if (!result) return { text, verdict: 'not measured', detail: '' };
  const seconds = median(result.seconds);
  return { text, verdict: seconds < MOST_SECONDS ? 'pass' : 'FAIL', detail: `${seconds.toFixed(2)} s` };
}

export const againRow = ({ files, seconds }: AgainResult): string[] => [
  files.toLocaleString('en'),
  median(seconds).toFixed(2),
];
