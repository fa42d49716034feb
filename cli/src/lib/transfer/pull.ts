import { type PullHost, pullHost } from '@szafa/client/node';
import { UsageError } from '../../errors.ts';
import type { Flags } from '../../options.ts';
import { oneLine } from '../print/text.ts';

/** The flags of a pull: where the server fetches volumes from. */
export interface PullPlan {
  /** Undefined without --pull-address: the server is then given the local address of the connection to it. */
  address: URL | undefined;
  /** With a fixed port only one transfer can be served at a time. */
  oneAtATime: boolean;
}

export function pullPlan(flags: Flags): PullPlan | undefined {
  const text = flags['pull-address'];
  if (text === undefined) return flags.pull ? { address: undefined, oneAtATime: false } : undefined;
  const address = URL.parse(text.includes('://') ? text : `http://${text}`);
  const isSound =
    address && /^https?:$/.test(address.protocol) && address.search === '' && address.username === '';
  if (isSound) return { address, oneAtATime: address.port !== '' };
  const message = `--pull-address: "${oneLine(text)}" is not an address`;
  throw new UsageError(message, 'give one like http://192.0.2.7:9000');
}

/** With --pull-address the temporary server listens on all interfaces: the given address may belong to any of them. */
export function hostFor({ address }: PullPlan, server: string): PullHost {
  if (!address) return pullHost({ server });
  const host = pullHost({ server, host: '::', port: Number(address.port) });
  return {
    async serve(transferId, supply) {
      const offer = await host.serve(transferId, supply);
      const offered = new URL(address);
      if (offered.port === '') offered.port = new URL(offer.baseUrl).port;
      return { ...offer, baseUrl: offered.href.replace(/\/+$/, '') };
    },
  };
}
