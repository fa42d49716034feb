/** Messages between the page, its worker, the service worker, the reader, and other tabs. */
import type { Factor, PasskeyRequest } from '@szafa/protocol';

/** From a tab to the service worker: take control of the tab, or cache these files for offline use. */
export type ToServiceWorker = 'claim' | { keep: string[] };

/** The browser's request for `/local/…`, which the service worker forwards to the page. */
export interface LocalRequest {
  /** The Range header. */
  range: string | null;
  /** Save the file instead of showing it. */
  attachment: boolean;
}

/** Content-Security-Policy for users' files served from our origin: no scripts, no requests, an opaque origin. */
export const HARMLESS = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";

export interface LocalHead {
  status: number;
  headers: Record<string, string>;
}

/**
 * From the service worker to the worker: asks for the next part and returns the memory of the previous one. Left to the
 * garbage collector, memory would grow to the size of the file on a fast download.
 */
export type LocalPull = { memory: ArrayBuffer | undefined } | 'cancel';

/** From the worker to the service worker: the head, then one part for each pull. */
export type LocalPart =
  | { head: LocalHead }
  | { chunk: Uint8Array<ArrayBuffer> }
  | { end: true }
  | { error: string };

export interface Progress {
  id: string;
  done: number;
  /** Bytes of an upload that are stored on the server and survive a stop. */
  stored?: number;
  /** Number of files, for an operation on several files. */
  total?: number;
}

export interface Fault {
  code: string;
  message: string;
  status?: number;
  stage?: string;
  /** Name of the form field at fault. */
  field?: string;
  retryAfter?: number;
  /** Accepted second factors, and the challenge for a passkey. */
  factors?: Factor[];
  passkey?: PasskeyRequest;
}

export type WorkerMessage =
  | { call: number; value: unknown }
  | { call: number; fault: Fault }
  | { progress: Progress }
  /** A request failed, or succeeded after a failure. */
  | { reachable: boolean };

/** A text for the reader to render as HTML. */
export interface ReaderJob {
  text: string;
  /** A language of highlight.js, or `markdown`. */
  language: string;
}
export type ReaderAnswer = { html: string } | { error: string };

/** Broadcast to the other tabs of this origin. */
export type TabNews = 'signed-in' | 'signed-out' | 'expired' | 'changed';
export const TAB_CHANNEL = 'szafa';
