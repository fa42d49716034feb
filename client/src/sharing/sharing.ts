/** Sharing and file requests. The SDK loads this module on first use. */

export { listReceived, shareWith } from './account-shares.ts';
export { Contacts } from './contacts.ts';
export { dropDelivery, listDeliveries, listSealedIds, takeOver } from './deliveries.ts';
export { listLinks, makeLink } from './links.ts';
export { listRequests, makeRequest } from './requests.ts';
