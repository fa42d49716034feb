/** Messages between the page, its worker, the service worker, the reader, and other tabs. */
import type { Factor, PasskeyRequest } from '@szafa/protocol';

/** From a tab to the service worker: take control of the tab, or keep these files for when the server is away. */
export type ToServiceWorker = 'claim' | { keep: string[] };

/** A request of the browser for `/local/…`, as the service worker passes it on. */
export interface LocalRequest {
  /** The Range header. */
  range: string | null;
  /** Save instead of show. */
  attachment: boolean;
}

/** Policy for content of a person's file under our address: it can run and load nothing, and has an origin of its own. */
export const HARMLESS = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";

export interface LocalHead {
  status: number;
  headers: Record<string, string>;
}

/**
 * From the service worker to the worker: asks for the next part, and returns the memory of the last one. Left to the
 * garbage collector, that memory would grow to the size of the file in a fast browser.
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
  /** Bytes of an upload that the server has, and keeps if the upload stops. */
  stored?: number;
  /** Number of files, for operations on many files. */
  total?: number;
}

export interface Fault {
  code: string;
  message: string;
  status?: number;
  stage?: string;
  /** Name of the form field that it is about. */
  field?: string;
  retryAfter?: number;
  /** Second factors that would do, and what a passkey would sign. */
  factors?: Factor[];
  passkey?: PasskeyRequest;
}

export type WorkerMessage =
  | { call: number; value: unknown }
  | { call: number; fault: Fault }
  | { progress: Progress }
  /** A request failed, or succeeded after a failure. */
  | { reachable: boolean };

/** A text for the reader to render. */
export interface ReaderJob {
  text: string;
  /** A language of highlight.js, or `markdown`. */
  language: string;
}
export type ReaderAnswer = { html: string } | { error: string };

/** Between tabs of one origin. */
export type TabNews = 'signed-in' | 'signed-out' | 'expired' | 'changed';
export const TAB_CHANNEL = 'szafa';
