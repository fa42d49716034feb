import type { AccountsResult, Goal } from './results.ts';

/** "Do not grow by more than half"; a difference of less than this is none. */
const MOST = 1.5;
const SAME_MS = 0.1;

export function judgeAccounts(results: AccountsResult[]): Goal[] {
  return results.map(({ question, few, many }) => {
    const growth = `from ${few.files.toLocaleString('en')} to ${many.files.toLocaleString('en')} files`;
    return {
      text: `${question} on PostgreSQL does not grow by more than half ${growth}`,
      verdict: many.ms <= MOST * few.ms + SAME_MS ? 'pass' : 'FAIL',
      detail: `${few.ms.toFixed(2)} -> ${many.ms.toFixed(2)} ms`,
    };
  });
}

export const accountsRow = ({ question, few, many }: AccountsResult): string[] => [
  question,
  few.ms.toFixed(2),
  many.ms.toFixed(2),
  (many.ms / few.ms).toFixed(2),
];
