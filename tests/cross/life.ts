/** For the tests of an account's life. */
import assert from 'node:assert/strict';
import { PASSWORD, registered } from './account.ts';
import type { Device } from './device.ts';

export const NEXT = 'another horse, another battery';
export const OLD = { SZ_PASSWORD: PASSWORD };
export const CHANGE = { ...OLD, SZ_NEW_PASSWORD: NEXT };

export async function withFile(
  stack: AsyncDisposableStack,
  server: { url: string },
  command?: string,
): Promise<Device> {
  const device = await registered(server, {}, command);
  stack.defer(() => device.remove());
  await device.ok(['put', '-', '--name', 'kept', '--dir', 'papers'], { input: 'kept' });
  return device;
}

/** The same account from a machine that has seen nothing. */
export const elsewhere = (device: Device, password: string, folder = 'elsewhere') => ({
  env: { SZ_PASSWORD: password, SZ_CONFIG: device.path(folder) },
});
export async function reads(device: Device, options: { env?: Record<string, string> } = {}): Promise<void> {
  assert.equal((await device.ok(['get', 'papers/kept', '-o', '-'], options)).stdout, 'kept');
}
