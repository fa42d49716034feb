import { createHash, createHmac } from 'node:crypto';
import { percentEncode } from '../percent.ts';
import type { S3Credentials } from './location.ts';

export interface Signable {
  method: string;
  host: string;
  /** Encoded, with a leading slash. */
  path: string;
  query: Record<string, string>;
  /** Names in lower case; all of them are signed. */
  headers: Record<string, string>;
  /** SHA-256 of the body in hex; the store verifies it. */
  payload: string;
}

export const sha256Hex = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

export function queryString(query: Record<string, string>): string {
  return Object.entries(query)
    .map(([name, value]) => `${percentEncode(name)}=${percentEncode(value)}`)
    .sort()
    .join('&');
}

/** AWS Signature Version 4, in headers or in the query, for S3 in one region. */
export class Signer {
  readonly #credentials: S3Credentials;
  readonly #region: string;
  /** The signing key of one day. */
  #key: { day: string; bytes: Buffer } = { day: '', bytes: Buffer.alloc(0) };

  constructor(credentials: S3Credentials, region: string) {
    this.#credentials = credentials;
    this.#region = region;
  }

  /** Returns all headers to send, including the signature. */
  sign(request: Signable, now = new Date()): Record<string, string> {
    const { time, day, credential } = this.#scope(now);
    const headers: Record<string, string> = {
      ...request.headers,
      host: request.host,
      'x-amz-content-sha256': request.payload,
      'x-amz-date': time,
    };
    const signed = Object.keys(headers).sort().join(';');
    const signature = this.#signature({ ...request, headers }, time, day);
    headers['authorization'] =
      `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${signed}, Signature=${signature}`;
    return headers;
  }

  /** Returns the query of a URL that is valid for this many seconds and signs no header but Host. */
  presign(
    request: Omit<Signable, 'headers' | 'payload'>,
    seconds: number,
    now = new Date(),
  ): Record<string, string> {
    const { time, day, credential } = this.#scope(now);
    const query = {
      ...request.query,
      'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
      'X-Amz-Credential': credential,
      'X-Amz-Date': time,
      'X-Amz-Expires': String(seconds),
      'X-Amz-SignedHeaders': 'host',
    };
    const whole = { ...request, query, headers: { host: request.host }, payload: 'UNSIGNED-PAYLOAD' };
    return { ...query, 'X-Amz-Signature': this.#signature(whole, time, day) };
  }

  #scope(now: Date): { time: string; day: string; credential: string } {
    const time = now.toISOString().replace(/[-:]|\.\d{3}/g, '');
    const day = time.slice(0, 8);
    return { time, day, credential: `${this.#credentials.accessKeyId}/${this.#scopeOf(day)}` };
  }

  #scopeOf(day: string): string {
    return `${day}/${this.#region}/s3/aws4_request`;
  }

  /** Signs all headers of the request. */
  #signature({ method, path, query, headers, payload }: Signable, time: string, day: string): string {
    const names = Object.keys(headers).sort();
    const canonical = [
      method,
      path,
      queryString(query),
      ...names.map((name) => `${name}:${headers[name]!.trim()}`),
      '',
      names.join(';'),
      payload,
    ].join('\n');
    const toSign = `AWS4-HMAC-SHA256\n${time}\n${this.#scopeOf(day)}\n${sha256Hex(canonical)}`;
    return hmac(this.#keyOf(day), toSign).toString('hex');
  }

  #keyOf(day: string): Buffer {
    if (this.#key.day !== day) {
      const ofDay = hmac(`AWS4${this.#credentials.secretAccessKey}`, day);
      this.#key = { day, bytes: hmac(hmac(hmac(ofDay, this.#region), 's3'), 'aws4_request') };
    }
    return this.#key.bytes;
  }
}
