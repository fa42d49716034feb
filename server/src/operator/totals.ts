import type { Metadata } from '../metadata.ts';
import type { Totals } from './totals-table.ts';

/** So many accounts are counted in one round of the sweeper, however many there are. */
const PAGE = 1000;

const NOTHING: Totals = { accounts: 0, files: 0, bytes: 0n, trashBytes: 0n };
const STAGES = ['accounts', 'usage', 'trash'] as const;

/** Counts what all accounts have, a page in each round; whoever dies in between leaves the numbers as they were. */
export class TotalsCount {
  readonly #metadata: Metadata;
  #sums = NOTHING;
  #stage: (typeof STAGES)[number] = 'accounts';
  #after: string | undefined;

  constructor(metadata: Metadata) {
    this.#metadata = metadata;
  }

  async step(): Promise<void> {
    // Where one page is enough for each stage, the numbers are new in every round.
    for (const stage of STAGES) {
      if (stage === this.#stage && !(await this.#page())) return;
    }
    await this.#logRequest();
  }

  /** Whether the stage is over. */
  async #page(): Promise<boolean> {
    const { totals } = this.#metadata;
    const { accounts, files, bytes, trashBytes } = this.#sums;
    let page: { rows: number; last: string };
    if (this.#stage === 'accounts') {
      page = await totals.accountsAfter(this.#after ?? '', PAGE);
      this.#sums = { ...this.#sums, accounts: accounts + page.rows };
    } else if (this.#stage === 'usage') {
      const found = await totals.usageAfter('all', this.#after, PAGE);
      page = found;
      this.#sums = { ...this.#sums, files: files + found.files, bytes: bytes + found.bytes };
    } else {
      const found = await totals.usageAfter('trash', this.#after, PAGE);
      page = found;
      this.#sums = { ...this.#sums, trashBytes: trashBytes + found.bytes };
    }
    const isLast = page.rows < PAGE;
    this.#after = isLast ? undefined : page.last;
    if (isLast) this.#stage = STAGES[STAGES.indexOf(this.#stage) + 1] ?? this.#stage;
    return isLast;
  }

  async #logRequest(): Promise<void> {
    const { totals } = this.#metadata;
    const found = this.#sums;
    this.#sums = NOTHING;
    this.#stage = 'accounts';
    const before = await totals.get();
    const isSame = (Object.keys(found) as (keyof Totals)[]).every((name) => before[name] === found[name]);
    if (!isSame) await totals.set(found);
  }
}
