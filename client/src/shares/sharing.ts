/** Sharing and file requests as the SDK loads them: when they are first used. */
export { Contacts } from './contacts.ts';
export { dropDelivery, listDeliveries, listSealedIds, takeOver } from './deliveries.ts';
export { listLinks, makeLink } from './links.ts';
export { listRequests, makeRequest } from './requests.ts';
export { listReceived, shareWith } from './to-account.ts';
