import assert from 'node:assert/strict';
import type { Answer } from './http.ts';

/** Asserts the status and an `{error}` body. The witness has already checked that the body has no other fields. */
export function assertError(answer: Answer, ...statuses: number[]): void {
  assert.ok(
    statuses.includes(answer.status),
    `${answer.status} is not ${statuses.join(' or ')}: ${answer.text}`,
  );
  assert.equal(typeof answer.json['error'], 'string', answer.text);
}

/** Asserts the status and a `{detail}` body, which comes from the authentication or file ownership check. */
export function assertDetail(answer: Answer, status: number): void {
  assert.equal(answer.status, status, answer.text);
  assert.equal(typeof answer.json['detail'], 'string', answer.text);
}

/** Asserts status 200, and exactly this body if one is given. */
export function assertOk(answer: Answer, body?: unknown): void {
  assert.equal(answer.status, 200, answer.excerpt);
  if (body !== undefined) assert.deepEqual(answer.json, body);
}
