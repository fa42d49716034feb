import type { Metadata } from '../metadata.ts';
import type { Totals, TotalsPage } from './totals-table.ts';

/** Accounts counted in one round of the sweeper. */
const PAGE = 1000;

const NOTHING: Totals = { accounts: 0, files: 0, bytes: 0n, trashBytes: 0n };
const STAGES = ['accounts', 'usage', 'trash'] as const;

/** Counts the totals, a page in each round. If the process dies in between, the stored totals stay as they were. */
export class TotalsCount {
  readonly #metadata: Metadata;
  #sums = NOTHING;
  #stage: (typeof STAGES)[number] = 'accounts';
  #after: string | undefined;

  constructor(metadata: Metadata) {
    this.#metadata = metadata;
  }

  async step(): Promise<void> {
    // On small servers one page is enough for each stage, and every round counts everything.
    for (const stage of STAGES) {
      if (stage === this.#stage && !(await this.#countPage())) return;
    }
    const { totals } = this.#metadata;
    const [sums, before] = [this.#sums, await totals.get()];
    this.#sums = NOTHING;
    this.#stage = 'accounts';
    const isSame = (Object.keys(sums) as (keyof Totals)[]).every((name) => before[name] === sums[name]);
    if (!isSame) await totals.set(sums);
  }

  /** Returns whether the stage is finished. */
  async #countPage(): Promise<boolean> {
    const { totals } = this.#metadata;
    const sums = { ...this.#sums };
    let page: TotalsPage;
    if (this.#stage === 'accounts') {
      page = await totals.accountsAfter(this.#after ?? '', PAGE);
      sums.accounts += page.rows;
    } else {
      const usage = await totals.usageAfter(this.#stage === 'usage' ? 'all' : 'trash', this.#after, PAGE);
      page = usage;
      if (this.#stage === 'usage') {
        sums.files += usage.files;
        sums.bytes += usage.bytes;
      } else sums.trashBytes += usage.bytes;
    }
    this.#sums = sums;
    const isLast = page.rows < PAGE;
    this.#after = isLast ? undefined : page.last;
    if (isLast) this.#stage = STAGES[STAGES.indexOf(this.#stage) + 1] ?? this.#stage;
    return isLast;
  }
}
