import type { Metadata } from '../metadata.ts';
import type { Totals, TotalsTable } from './totals-table.ts';

/** Accounts counted in one round of the sweeper. */
const PAGE = 1000;

const NOTHING: Totals = { accounts: 0, files: 0, bytes: 0n, trashBytes: 0n };
const STAGES = ['accounts', 'usage', 'trash'] as const;

/** Counts the totals, one page per round. If the process dies in between, the stored totals stay unchanged. */
export class TotalsCount {
  readonly #totals: TotalsTable;
  #sums = NOTHING;
  #stage = 0;
  #after: string | undefined;

  constructor({ totals }: Metadata) {
    this.#totals = totals;
  }

  async step(): Promise<void> {
    // On small servers each stage fits on one page, and every round counts everything.
    for (; this.#stage < STAGES.length; this.#stage++) if (!(await this.#countPage())) return;
    const [sums, before] = [this.#sums, await this.#totals.get()];
    this.#sums = NOTHING;
    this.#stage = 0;
    const isSame = (Object.keys(sums) as (keyof Totals)[]).every((name) => before[name] === sums[name]);
    if (!isSame) await this.#totals.set(sums);
  }

  /** Returns whether the stage is finished. */
  async #countPage(): Promise<boolean> {
    const stage = STAGES[this.#stage]!;
    const { accounts, files, bytes, trashBytes } = this.#sums;
    let page: { rows: number; last: string | null };
    if (stage === 'accounts') {
      page = await this.#totals.accountsAfter(this.#after ?? '', PAGE);
      this.#sums = { ...this.#sums, accounts: accounts + page.rows };
    } else {
      const usage = await this.#totals.usageAfter(stage, this.#after, PAGE);
      const more = { files: files + usage.files, bytes: bytes + usage.bytes };
      this.#sums = {
        ...this.#sums,
        ...(stage === 'usage' ? more : { trashBytes: trashBytes + usage.bytes }),
      };
      page = usage;
    }
    const isLast = page.rows < PAGE;
    this.#after = isLast ? undefined : page.last!;
    return isLast;
  }
}
