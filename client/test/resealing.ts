/** An account whose files go under a new master key, behind the hostile proxy. */
import { parseHeader } from '@szafa/format';
import { bytesSource, type ConnectOptions, type Entry, type Szafa } from '../src/index.ts';
import { readVolumeHeaders } from '../src/transfers/calls.ts';
import { proxy, service } from './hostile.ts';
import { content, newUser, optionsFor, quick, sameUser } from './service.ts';

export const NAMES = '/api/files/names';
export const more: Partial<ConnectOptions> = { engine: quick };
export const { server: _, ...visiting } = optionsFor('', more);

/** An account with files of several kinds, and a session through the proxy. */
export async function setUp(files: number): Promise<{ user: Szafa; there: Szafa }> {
  const user = await newUser(service.url, more);
  await user.makeDir('papers');
  await user.makeDir('shown', { plain: true });
  for (let at = 1; at <= files; at++) {
    await user.upload(bytesSource(content(at)), { path: `${at % 2 ? 'papers/' : ''}file ${at}` });
  }
  await user.upload(bytesSource(content(9)), { path: 'plain.txt', plainName: true });
  await user.upload(bytesSource(content(9)), { path: `${'long '.repeat(50)}name` });
  return { user, there: await sameUser(user, proxy.url, more) };
}

export const byName = (a: Entry, b: Entry) => a.name.localeCompare(b.name);
export const said = async (user: Szafa) =>
  (await user.list()).sort(byName).map(({ name, verified, size, dirId }) => [name, verified, size, dirId]);

export async function epochsOf(user: Szafa): Promise<number[]> {
  const epochs: number[] = [];
  for (const { fileId } of await user.list()) {
    epochs.push(parseHeader((await readVolumeHeaders(user.api, fileId, 1)).encParams).epoch);
  }
  return epochs;
}

export const sent = () => proxy.requests.filter(({ path }) => path === NAMES).length;
