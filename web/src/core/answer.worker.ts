/** Answers the calls that a page makes to its worker. */
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

/** A function for each call. Its last argument is the port that came with the call, if any. */
export type Handlers<C> = {
  [N in keyof C]: C[N] extends (...args: infer A) => infer R
    ? (...args: [...A, MessagePort?]) => Promise<R>
    : never;
};

/** Turns an error into a plain object that a message to the page can carry. */
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
  // A dynamic import failed, for example of Argon2id: the server is away, or runs another version by now. The browser's
  // message is the only sign of that.
  if (name === 'TypeError' && /import(ed|ing) .*module/i.test(message))
    return { code: 'part-missing', message };
  // The browser lacks a key algorithm that sharing needs.
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
