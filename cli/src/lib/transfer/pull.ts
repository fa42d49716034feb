import { type PullHost, pullHost } from '@szafa/client/node';
import { UsageError } from '../../errors.ts';
import type { Flags } from '../../options.ts';
import { oneLine } from '../print/text.ts';

/** Where the server fetches volumes from, as far as the flags say. */
export interface PullPlan {
  /** Undefined without --pull-address: then it is the address of this machine as seen from the server. */
  address: URL | undefined;
  /** A fixed port serves one transfer at a time. */
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

/** With --pull-address the temporary server listens on all addresses: szafa's server may use any of them. */
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
