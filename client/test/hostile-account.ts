/** An account behind the hostile proxy, while it changes. */
import { bytesSource, type ConnectOptions, type Szafa } from '../src/index.ts';
import { proxy, service } from './hostile.ts';
import type { Hostility } from './proxy.ts';
import {
  content,
  quick as engine,
  newUser as makeUser,
  optionsFor as plainOptions,
  sameUser as sameAccount,
} from './service.ts';

export const next = 'another horse, another battery';

export const optionsFor = (server: string, more: Partial<ConnectOptions> = {}) =>
  plainOptions(server, { engine, ...more });
export const newUser = () => makeUser(service.url, { engine });
export const sameUser = (user: Szafa, more: Partial<ConnectOptions> = {}, server = proxy.url) =>
  sameAccount(user, server, { engine, ...more });
export const json = (body: object, status = 200) => ({ status, body: Buffer.from(JSON.stringify(body)) });
export const withFile = async (user: Szafa) =>
  (await user.upload(bytesSource(content(5)), { path: 'kept' })).fileId;

export async function hostile<T>(hostility: Hostility, work: () => Promise<T>): Promise<T> {
  proxy.hostility = hostility;
  proxy.requests.length = 0;
  try {
    return await work();
  } finally {
    proxy.hostility = () => undefined;
  }
}
/** Requests that change something, or that carry a secret; the question for the KDF profile is neither. */
export const changes = () =>
  proxy.requests.filter(({ method, path }) => !/^(GET|HEAD)$/.test(method) && path !== '/api/auth/profile');
