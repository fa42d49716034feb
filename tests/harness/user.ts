import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { ADMIN, pathOf } from '@szafa/protocol';
import type { Answer, Call } from './http.ts';
import type { Service } from './service.ts';

type Options = Omit<Call, 'method' | 'path'>;

/** Sends requests to a service with the token of one account. */
export class User {
  readonly service: Service;
  readonly username: string;
  readonly password: string;
  readonly token: string;

  constructor(service: Service, username: string, password: string, token: string) {
    this.service = service;
    this.username = username;
    this.password = password;
    this.token = token;
  }

  call(method: string, path: string, options: Options = {}): Promise<Answer> {
    return this.service.call({ token: this.token, ...options, method, path });
  }
  get(path: string, options?: Options): Promise<Answer> {
    return this.call('GET', path, options);
  }
  post(path: string, json?: unknown): Promise<Answer> {
    return this.call('POST', path, { json });
  }
  put(path: string, json?: unknown): Promise<Answer> {
    return this.call('PUT', path, { json });
  }
  delete(path: string): Promise<Answer> {
    return this.call('DELETE', path);
  }
}

export function freshName(): string {
  return `u_${randomBytes(8).toString('hex')}`;
}

/** Registers a new account, so that a test does not see files of other tests. */
export async function register(service: Service, username = freshName()): Promise<User> {
  const password = `pw-${randomBytes(9).toString('base64url')}`;
  const answer = await service.call({
    method: 'POST',
    path: pathOf('register'),
    json: { username, password },
  });
  assert.equal(answer.status, 200, answer.text);
  return new User(service, username, password, String(answer.json['token']));
}

const shared = new WeakMap<Service, Promise<User>>();

/** Returns an account for tests that do not depend on lists or quota. Shared, because a new account costs a password hash. */
export function sharedUser(service: Service): Promise<User> {
  const found = shared.get(service) ?? register(service);
  shared.set(service, found);
  return found;
}

export function admin(service: Service): User {
  return new User(service, ADMIN, '', service.systemToken);
}

export async function makeDir(user: User, name = `d ${freshName()}`): Promise<number> {
  const answer = await user.post(pathOf('createDir'), { name });
  assert.equal(answer.status, 200, answer.text);
  return Number(answer.json['dir_id']);
}
