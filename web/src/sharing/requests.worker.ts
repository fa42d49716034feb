/** The file requests of the account and their deliveries. */
import { type Delivery, type Szafa, SzafaError } from '@szafa/client';
import { requireSameAccount } from '../accounts/same-account.worker.ts';
import type { NewLink, RequestLists, RequestOptions } from '../core/bridge/calls.ts';
import { forPage } from '../core/for-page.worker.ts';
import { drawQr } from '../core/qr-picture.worker.ts';

export class Requests {
  readonly #szafa: () => Szafa;
  /** The deliveries of the last listing, by file id. */
  #deliveries = new Map<string, Delivery>();

  constructor(szafa: () => Szafa) {
    this.#szafa = szafa;
  }

  clear(): void {
    this.#deliveries.clear();
  }

  async make({ expiresAt, ...options }: RequestOptions): Promise<NewLink> {
    const { link } = await this.#szafa().requestLink({ ...options, expiresAt: new Date(expiresAt) });
    return { link, qrCode: await drawQr(link) };
  }

  async list(): Promise<RequestLists> {
    const szafa = this.#szafa();
    const [requests, deliveries] = [await szafa.requests(), await szafa.deliveries()];
    requireSameAccount(szafa, this.#szafa);
    this.#deliveries = new Map(deliveries.map((delivery) => [delivery.fileId, delivery]));
    return {
      requests: requests.map(forPage),
      deliveries: deliveries.map(({ record: _, sealed: __, ...delivery }) => forPage(delivery)),
    };
  }

  #listed(fileId: string): Delivery {
    const found = this.#deliveries.get(fileId);
    if (!found) throw new SzafaError('gone', 'this file is not in the list any more');
    return found;
  }

  /** Saves deliveries one after the other, so that two with the same name get different paths. */
  async save(fileIds: string[], folder: string | null): Promise<string[]> {
    const szafa = this.#szafa();
    const wanted = fileIds.map((fileId) => this.#listed(fileId));
    const [tree, sealedIds] = [await szafa.tree(), await szafa.sealedIds()];
    const given = new Set<string>();
    for (const delivery of wanted) {
      await szafa.takeOver(delivery, { tree, given, sealedIds, ...(folder !== null && { folder }) });
      this.#deliveries.delete(delivery.fileId);
    }
    return [...given];
  }

  async delete(fileId: string): Promise<void> {
    await this.#szafa().dropDelivery(this.#listed(fileId));
    this.#deliveries.delete(fileId);
  }
}
