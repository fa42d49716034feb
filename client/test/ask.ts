import { type ConnectOptions, type RequestOptions, type Szafa, webEngine } from '../src/index.ts';
import { proxy, service } from './hostile.ts';
import { newUser, optionsFor, quick } from './service.ts';

/** Of an owner's devices. */
export const more: Partial<ConnectOptions> = { engine: quick };
const { server: _, ...withoutServer } = optionsFor('', { engine: webEngine() });
/** A visitor has Web Crypto alone. */
export const visiting = withoutServer;

/** A new account that asks for files. */
export async function ask(
  over: Partial<RequestOptions> = {},
): Promise<{ owner: Szafa; link: string; id: string }> {
  const owner = await newUser(service.url, more);
  const made = await owner.requestLink({ folder: 'inbox/2026', files: 10, size: 100_000, ...over });
  return { owner, ...made };
}

/** By way of the server that lies. */
export const through = (link: string) => link.replace(service.url, proxy.url);
export const filesOf = async (user: Szafa) => (await user.tree()).files().map(({ path }) => path);
