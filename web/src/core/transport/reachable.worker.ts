import { NetworkError, type Transport } from '@szafa/client';

/** Calls `onReachable` when requests fail, and when they work again after a failure. */
export function reportReachable(send: Transport, onReachable: (reachable: boolean) => void): Transport {
  let reachable = true;
  const note = (now: boolean) => {
    // Every failure is reported: the page may have found the server again since the last one.
    if (!(now && reachable)) onReachable(now);
    reachable = now;
  };
  return async (request) => {
    try {
      const response = await send(request);
      note(response.status !== 502 && response.status !== 503 && response.status !== 504);
      return response;
    } catch (error) {
      if (error instanceof NetworkError) note(false);
      throw error;
    }
  };
}
