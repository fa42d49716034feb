import type { AccountsResult, Goal } from './results.ts';

/** Allowed growth, and the difference in milliseconds that still counts as no growth. */
const MOST = 1.5;
const SAME_MS = 0.1;
/** Pages that still count as no growth: a new connection reads part of the PostgreSQL catalog. */
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
