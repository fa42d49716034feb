import { after, before } from 'node:test';
import { freshName, type Service } from '../harness/index.ts';
import { Device } from './device.ts';

export const PASSWORD = 'correct horse battery';

/** A device with a fresh account, registered. */
export async function registered(
  { url }: { url: string },
  env: Record<string, string> = {},
): Promise<Device> {
  const device = await Device.make(url, { SZ_USER: freshName(), ...env });
  await device.ok(['register'], { env: { SZ_PASSWORD: PASSWORD } });
  return device;
}

/** One registered device for a test file. */
export function useDevice(service: Service): { readonly device: Device } {
  let device: Device | undefined;
  before(async () => {
    device = await registered(service);
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
