/** How a worker answers the calls of its page. */
import { ApiError, FactorError, LinkOverError, SzafaError, TamperedError } from '@szafa/client';
import { RuleError } from '@szafa/protocol';
import { RefusedError } from '../transfers/outlet.worker.ts';
import type { CallMessage } from './bridge/calls.ts';
import type { Fault, WorkerMessage } from './bridge/messages.ts';
import { StoppedError } from './tasks.worker.ts';

const scope = globalThis as unknown as {
  postMessage(message: WorkerMessage, transfer?: Transferable[]): void;
  onmessage: ((event: MessageEvent<CallMessage>) => void) | null;
};

export const post = (message: WorkerMessage, transfer: Transferable[] = []) =>
  scope.postMessage(message, transfer);

/** A function for each of these calls; a port may come with one. */
export type Handlers<C> = {
  [N in keyof C]: C[N] extends (...args: infer A) => infer R
    ? (...args: [...A, MessagePort?]) => Promise<R>
    : never;
};

/** An error as the page gets it. */
export function faultOf(error: unknown): Fault {
  if (error instanceof ApiError) {
    const { code, message, status, retryAfter } = error;
    return { code, message, status, ...(retryAfter !== undefined && { retryAfter }) };
  }
  if (error instanceof FactorError) {
    const { code, message, factors, passkey } = error;
    return { code, message, factors, ...(passkey && { passkey }) };
  }
  if (error instanceof TamperedError) {
    const { aboutKeys, code, message, stage } = error;
    return { code: aboutKeys ? 'keys' : code, message, stage };
  }
  if (error instanceof LinkOverError) {
    const { code, message, why } = error;
    return { code, message, stage: why };
  }
  if (error instanceof SzafaError || error instanceof StoppedError || error instanceof RefusedError)
    return { code: error.code, message: error.message };
  if (error instanceof RuleError) return { code: 'rule', message: error.message };
  const { name, message } = error as Error;
  // Browsers word it like this. Argon2id is loaded when needed: the server may be gone by then, or have another version.
  if (name === 'TypeError' && /import(ed|ing) .*module/i.test(message))
    return { code: 'part-missing', message };
  // Not every browser has the kinds of keys that sharing needs.
  if (name === 'NotSupportedError') return { code: 'no-such-keys', message };
  return { code: name === 'AbortError' ? 'stopped' : 'unexpected', message };
}

export function serveCalls<C>(handlers: Handlers<C>): void {
  scope.onmessage = async ({ data: { call, name, args, port } }) => {
    try {
      const handler = handlers[name as keyof C] as (...args: unknown[]) => Promise<unknown>;
      const value = await handler(...args, ...(port ? [port] : []));
      post({ call, value }, value instanceof ImageBitmap ? [value] : []);
    } catch (error) {
      post({ call, fault: faultOf(error) });
    }
  };
}
