/** What the account asks others for, and what came. */
import { type Delivery, displayName, type Szafa, SzafaError } from '@szafa/client';
import { requireSame } from '../accounts/same-account.worker.ts';
import type { Asked, ListedDelivery, ListedRequest, MadeLink, RequestWishes } from '../core/bridge/calls.ts';
import { drawQr } from '../core/qr-picture.worker.ts';

export class Requests {
  readonly #szafa: () => Szafa;
  /** As a person has seen them. */
  #deliveries = new Map<string, Delivery>();

  constructor(szafa: () => Szafa) {
    this.#szafa = szafa;
  }

  clear(): void {
    this.#deliveries.clear();
  }

  async make({ expiresAt, ...wishes }: RequestWishes): Promise<MadeLink> {
    const { link } = await this.#szafa().requestLink({ ...wishes, expiresAt: new Date(expiresAt) });
    return { link, picture: await drawQr(link) };
  }

  async list(): Promise<Asked> {
    const szafa = this.#szafa();
    const [requests, deliveries] = [await szafa.requests(), await szafa.deliveries()];
    requireSame(szafa, this.#szafa);
    this.#deliveries = new Map(deliveries.map((delivery) => [delivery.fileId, delivery]));
    return {
      requests: requests.map(
        ({ expiresAt, createdAt: _, problem, ...request }): ListedRequest => ({
          ...request,
          expiresAt: expiresAt === null ? null : Date.parse(expiresAt),
          ...(problem && { problem: problem.code }),
        }),
      ),
      deliveries: deliveries.map(
        ({ fileId, name, size, createdAt, folder, problem }): ListedDelivery => ({
          ...{ fileId, name: displayName(name), size, createdAt: Date.parse(createdAt) },
          ...(folder !== undefined && { folder }),
          ...(problem && { problem: problem.code }),
        }),
      ),
    };
  }

  #seen(fileId: string): Delivery {
    const found = this.#deliveries.get(fileId);
    if (!found) throw new SzafaError('gone', 'this file is not in the list any more');
    return found;
  }

  /** One after the other: two of one name get two numbers. */
  async takeOver(fileIds: string[], folder: string | null): Promise<string[]> {
    const szafa = this.#szafa();
    const wanted = fileIds.map((fileId) => this.#seen(fileId));
    const [tree, sealedIds] = [await szafa.tree(), await szafa.sealedIds()];
    const given = new Set<string>();
    for (const delivery of wanted) {
      await szafa.takeOver(delivery, { tree, given, sealedIds, ...(folder !== null && { folder }) });
      this.#deliveries.delete(delivery.fileId);
    }
    return [...given];
  }

  async drop(fileId: string): Promise<void> {
    await this.#szafa().dropDelivery(this.#seen(fileId));
    this.#deliveries.delete(fileId);
  }
}
