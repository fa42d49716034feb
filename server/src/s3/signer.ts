import { createHash, createHmac } from 'node:crypto';
import { percent } from '../percent.ts';
import type { S3Credentials } from './location.ts';

export interface Signable {
  method: string;
  host: string;
  /** Encoded, with a leading slash. */
  path: string;
  query: Record<string, string>;
  /** Names in lower case; all of them are signed. */
  headers: Record<string, string>;
  /** SHA-256 of the body in hex: the store refuses a body with another one. */
  payload: string;
}

export const sha256Hex = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

export function queryString(query: Record<string, string>): string {
  return Object.entries(query)
    .map(([name, value]) => `${percent(name)}=${percent(value)}`)
    .sort()
    .join('&');
}

/** AWS Signature Version 4 with signed headers, for one service, region and account. */
export class Signer {
  readonly #credentials: S3Credentials;
  readonly #region: string;
  /** The key changes with the day. */
  #key: { day: string; bytes: Buffer } = { day: '', bytes: Buffer.alloc(0) };

  constructor(credentials: S3Credentials, region: string) {
    this.#credentials = credentials;
    this.#region = region;
  }

  /** All headers to send, the signature among them. */
  sign(request: Signable, now = new Date()): Record<string, string> {
    const time = now.toISOString().replace(/[-:]|\.\d{3}/g, '');
    const day = time.slice(0, 8);
    const headers: Record<string, string> = {
      ...request.headers,
      host: request.host,
      'x-amz-content-sha256': request.payload,
      'x-amz-date': time,
    };
    const names = Object.keys(headers).sort();
    const signed = names.join(';');
    const canonical = [
      request.method,
      request.path,
      queryString(request.query),
      ...names.map((name) => `${name}:${headers[name]!.trim()}`),
      '',
      signed,
      request.payload,
    ].join('\n');
    const scope = `${day}/${this.#region}/s3/aws4_request`;
    const toSign = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${sha256Hex(canonical)}`;
    const signature = hmac(this.#keyOf(day), toSign).toString('hex');
    headers['authorization'] =
      `AWS4-HMAC-SHA256 Credential=${this.#credentials.accessKeyId}/${scope}, SignedHeaders=${signed}, Signature=${signature}`;
    return headers;
  }

  #keyOf(day: string): Buffer {
    if (this.#key.day !== day) {
      const ofDay = hmac(`AWS4${this.#credentials.secretAccessKey}`, day);
      this.#key = { day, bytes: hmac(hmac(hmac(ofDay, this.#region), 's3'), 'aws4_request') };
    }
    return this.#key.bytes;
  }
}
