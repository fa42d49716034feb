import { ServiceError, TryLater } from '../errors.ts';

/** When to ask again whether there are fewer unfinished uploads. */
const CROWDED_SECONDS = 30;

export const overQuota = () => new ServiceError(507, 'the file would exceed your quota');

export const tooManyOpen = () =>
  new TryLater(429, 'you have too many unfinished uploads; complete or cancel some of them', CROWDED_SECONDS);
