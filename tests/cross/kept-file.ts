/** An account with one file, by which a password shows what it opens: many are tried, so deriving keys from them takes no time. */
import assert from 'node:assert/strict';
import { registered } from './account.ts';
import type { Device } from './device.ts';
import { quickCommand } from './packed.ts';

export async function withFile(stack: AsyncDisposableStack, server: { url: string }): Promise<Device> {
  const device = await registered(server, {}, quickCommand());
  stack.defer(() => device.remove());
  await device.ok(['put', '-', '--name', 'kept', '--dir', 'papers'], { input: 'kept' });
  return device;
}

let fresh = 0;
/** From a machine that has seen nothing: whether this password opens the account, files included. */
export async function opens(server: { url: string }, device: Device, password: string): Promise<boolean> {
  const env = { SZ_SERVER: server.url, SZ_PASSWORD: password, SZ_CONFIG: device.path(`fresh ${++fresh}`) };
  const outcome = await device.run(['get', 'papers/kept', '-o', '-'], { env });
  assert.ok(outcome.code === 0 || outcome.code === 12, outcome.stderr);
  return outcome.code === 0 && outcome.stdout === 'kept';
}
