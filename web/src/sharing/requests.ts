/** The file requests of the account and their deliveries. Loaded with the component that shows them. */
import { signal } from '@preact/signals';
import type { DeliveryRow, RequestRow } from '../core/bridge/calls.ts';
import { call } from '../core/call.ts';
import { notify, notifyError } from '../core/notices.ts';
import { changed, items } from '../files/file-list.ts';
import { remoteList } from './remote-list.ts';
import { words } from './text/index.ts';

/** Deliveries are being saved or deleted. */
export const working = signal(false);

export const requests = remoteList({
  at: 'shared',
  load: () => call('requests'),
  search: (all, fits) => ({
    requests: all.requests.filter(({ folder }) => fits(folder)),
    deliveries: all.deliveries.filter(({ name }) => fits(name)),
  }),
  // A new delivery changes the account's revision, so the page reads `items` again.
  isOld: () => items.value !== undefined && !working.peek(),
});

export async function endRequest({ id, ended }: RequestRow): Promise<void> {
  try {
    await call('endRequest', id);
    if (ended === null) notify(words.requests.done);
  } catch (error) {
    notifyError(error);
  }
  await requests.read();
}

async function change(work: () => Promise<string>): Promise<void> {
  working.value = true;
  try {
    notify(await work());
  } catch (error) {
    notifyError(error);
  }
  await requests.read();
  working.value = false;
}

/** Saves deliveries in `folder`, or in the folder of each request if null. */
export function saveDeliveries(deliveries: readonly DeliveryRow[], folder: string | null): Promise<void> {
  const ids = deliveries.map(({ fileId }) => fileId);
  return change(async () => {
    try {
      return words.requests.saved((await call('saveDeliveries', ids, folder)).length);
    } finally {
      // After a failure, some deliveries may have been saved already.
      await changed();
    }
  });
}

export function deleteDelivery({ fileId }: DeliveryRow): Promise<void> {
  return change(async () => {
    await call('deleteDelivery', fileId);
    return words.requests.deleted;
  });
}
