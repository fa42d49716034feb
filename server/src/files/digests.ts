import { hash } from 'node:crypto';
import type { Volume } from '@szafa/protocol';
import type { OpenVolume } from '../platform/volumes/store.ts';
import { unknownFile } from './refusals.ts';

/** An answer that is in memory, sent as a volume is. */
export interface SmallBody {
  sha256: string;
  volume: OpenVolume;
}

/** The digests of a file's volumes, in their order; `volumes` are all of them. */
export function digestsOf(volumes: readonly Volume[]): SmallBody {
  // A file that was deleted since its record was read has none left.
  if (volumes.length === 0) throw unknownFile();
  const bytes = Buffer.concat(volumes.map(({ sha256 }) => Buffer.from(sha256, 'hex')));
  return {
    sha256: hash('sha256', bytes, 'hex'),
    volume: {
      size: bytes.length,
      send: (sink, start, end) =>
        new Promise((resolve, reject) => {
          sink.write(bytes.subarray(start, end), (error) => (error ? reject(error) : resolve()));
        }),
      close: async () => {},
    },
  };
}
