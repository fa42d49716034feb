import { RuleError } from '../basics/names.ts';

/** Specification: "base64 text of the JSON serialization of the file's enc_params" */
export function encodeEncParams(params: object): string {
  return toBase64(JSON.stringify(params));
}

export function toBase64(text: string): string {
  return new TextEncoder().encode(text).toBase64();
}

/** Decodes X-Enc-Params; throws a RuleError if it is not a JSON object. */
export function decodeEncParams(header: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.fromBase64(header)));
  } catch (cause) {
    throw new RuleError('X-Enc-Params is not base64 of JSON', { cause });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new RuleError('X-Enc-Params is not a JSON object');
  }
  return value as Record<string, unknown>;
}
