import type { AccountsResult, Goal } from './results.ts';

/** "Do not grow by more than half"; a difference of less than this is none. */
const MOST = 1.5;
const SAME_MS = 0.1;
/** A new connection looks at some of the catalogue. */
const SAME_PAGES = 20;

export function judgeAccounts(results: AccountsResult[]): Goal[] {
  return results.flatMap(({ question, few, many }) => {
    const growth = `from ${few.files.toLocaleString('en')} to ${many.files.toLocaleString('en')} files`;
    const goal = (what: string, key: 'ms' | 'pages', same: number): Goal => ({
      text: `${question} on PostgreSQL: ${what} do not grow by more than half ${growth}`,
      verdict: many[key] <= MOST * few[key] + same ? 'pass' : 'FAIL',
      detail: `${few[key].toFixed(2)} -> ${many[key].toFixed(2)}`,
    });
    return [goal('milliseconds', 'ms', SAME_MS), goal('pages', 'pages', SAME_PAGES)];
  });
}

export const accountsRow = ({ question, few, many }: AccountsResult): string[] => [
  question,
  few.ms.toFixed(2),
  many.ms.toFixed(2),
  (many.ms / few.ms).toFixed(2),
  few.pages.toFixed(0),
  many.pages.toFixed(0),
];
