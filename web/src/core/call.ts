/** Starts the page's worker and calls it. */

import readerUrl from '../reader/main.ts?worker&url';
import senderUrl from '../sender/sender.worker.ts?worker&url';
import visitorUrl from '../visitor/visitor.worker.ts?worker&url';
import appUrl from '../worker/main.ts?worker&url';
import type { AllCalls, CallMessage, CallName } from './bridge/calls.ts';
import type { Fault, Progress, WorkerMessage } from './bridge/messages.ts';
import { scriptPolicy } from './bridge/scripts.ts';

/** A failed call. `explain` in text/index.ts turns its `fault` into words. */
export class CallError extends Error {
  override name = 'CallError';
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(fault.message);
    this.fault = fault;
  }
}

export function faultOf(error: unknown): Fault {
  return error instanceof CallError ? error.fault : { code: 'unexpected', message: (error as Error).message };
}

export { appUrl };
export const scriptUrl = scriptPolicy(appUrl, visitorUrl, senderUrl, readerUrl, '/sw.js');

type Answer = { resolve(value: unknown): void; reject(error: unknown): void };

const waiting = new Map<number, Answer>();
const listeners = {
  progress: (_: Progress) => {},
  reachable: (_: boolean) => {},
  fault: (_: Fault) => {},
};
let workerUrl = appUrl;
let worker: Worker | undefined;
/** The worker has sent a message, so its script was loaded. */
let begun = false;
let last = 0;
/** Number of the last call made for an account that has signed out. */
let disowned = 0;

function started(): Worker {
  if (worker) return worker;
  worker = new Worker(scriptUrl(workerUrl), { type: 'module' });
  worker.onmessage = ({ data }: MessageEvent<WorkerMessage>) => {
    begun = true;
    if ('progress' in data) listeners.progress(data.progress);
    else if ('reachable' in data) listeners.reachable(data.reachable);
    else {
      const answer = waiting.get(data.call);
      waiting.delete(data.call);
      if ('fault' in data) {
        if (data.call > disowned) listeners.fault(data.fault);
        answer?.reject(new CallError(data.fault));
      } else answer?.resolve(data.value);
    }
  };
  // The script could not be loaded or run, so no call would ever be answered. The next call starts a new worker.
  worker.onerror = () => {
    if (begun) return;
    worker = undefined;
    const fault = { code: 'part-missing', message: "the script of the page's worker could not be loaded" };
    for (const { reject } of waiting.values()) reject(new CallError(fault));
    waiting.clear();
  };
  return worker;
}

export function listen(added: Partial<typeof listeners>): void {
  Object.assign(listeners, added);
}

/** Stops reporting faults of earlier calls to the listener: they concern the previous account. */
export function disown(): void {
  disowned = last;
}

/** Must be called before the first call, on the pages behind a link or a request. */
export function useVisitorWorker(at: 'link' | 'request'): void {
  workerUrl = at === 'link' ? visitorUrl : senderUrl;
}

export function call<N extends CallName>(
  name: N,
  ...args: Parameters<AllCalls[N]>
): Promise<ReturnType<AllCalls[N]>> {
  return callWith(undefined, name, ...args);
}

/** Makes a call and transfers a port with it. */
export function callWith<N extends CallName>(
  port: MessagePort | undefined,
  name: N,
  ...args: Parameters<AllCalls[N]>
): Promise<ReturnType<AllCalls[N]>> {
  const message: CallMessage = { call: ++last, name, args, ...(port && { port }) };
  return new Promise((resolve, reject) => {
    waiting.set(message.call, { resolve: resolve as (value: unknown) => void, reject });
    started().postMessage(message, port ? [port] : []);
  });
}
