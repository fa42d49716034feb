import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { Szafa, webEngine } from '@szafa/client';
import { freshName, type Service } from '../harness/index.ts';
import { Device } from './device.ts';

export const PASSWORD = 'correct horse battery';

type Server = { url: string };

/** A device with a fresh account, registered. */
export async function registered(
  { url }: Server,
  env: Record<string, string> = {},
  command?: string,
): Promise<Device> {
  const device = await Device.make(url, { SZ_USER: freshName(), ...env }, command);
  await device.ok(['register'], { env: { SZ_PASSWORD: PASSWORD } });
  return device;
}

/**
 * The same, for tests in which nobody enters the password again: to derive keys from it takes more than all else that a command
 * does, so these are derived in no time, and no password gives them.
 */
export async function loggedIn({ url }: Server): Promise<Device> {
  const device = await Device.make(url, { SZ_USER: freshName() });
  const argon2id = async (secret: Uint8Array, salt: Uint8Array) =>
    new Uint8Array(createHash('sha256').update(secret).update(salt).digest());
  const options = { server: url, engine: webEngine({ argon2id }) };
  const account = { username: device.env['SZ_USER']!, password: PASSWORD };
  const { username, token, keys } = await Szafa.register(options, account);
  const kek = Buffer.from(keys.kek).toString('base64url');
  const config = device.env['SZ_CONFIG']!;
  await mkdir(config, { mode: 0o700 });
  const session = JSON.stringify({ server: url, username, token, kek });
  await writeFile(join(config, 'session.json'), session, { mode: 0o600 });
  return device;
}

/** One device for a test file. */
export function useDevice(service: Service, make = loggedIn): { readonly device: Device } {
  let device: Device | undefined;
  before(async () => {
    device = await make(service);
  });
  after(async () => {
    await device?.remove();
  });
  return {
    get device() {
      return device!;
    },
  };
}
