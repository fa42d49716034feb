import assert from 'node:assert/strict';
import type { Answer } from './http.ts';

/** The status, and an `{error}` body; the witness has checked that there is nothing else in it. */
export function assertError(answer: Answer, ...statuses: number[]): void {
  assert.ok(
    statuses.includes(answer.status),
    `${answer.status} is not ${statuses.join(' or ')}: ${answer.text}`,
  );
  assert.equal(typeof answer.json['error'], 'string', answer.text);
}

/** The status, and a `{detail}` body: the authentication check or the file ownership check. */
export function assertDetail(answer: Answer, status: number): void {
  assert.equal(answer.status, status, answer.text);
  assert.equal(typeof answer.json['detail'], 'string', answer.text);
}

/** 200 with exactly this body, where one is given. */
export function assertOk(answer: Answer, body?: unknown): void {
  assert.equal(answer.status, 200, answer.excerpt);
  if (body !== undefined) assert.deepEqual(answer.json, body);
}
