import { type Bytes, extentOf, largestVolume, SALT_BYTES, sealVolume, totalSha256 } from '@szafa/format';
import { concurrencyFor, forEach, range } from '../../pool.ts';
import type { ReadableHeader, RemoteFile } from '../download/remote-file.ts';
import { paddedSource, type Source } from './source.ts';

/**
 * Whether a source has the content of a file on the server. Fetches only the salts of the volumes: sealing the source with them must give
 * the digest in the header. @public
 */
export async function sameContent(
  remote: RemoteFile<ReadableHeader>,
  source: Source,
  signal?: AbortSignal,
): Promise<boolean> {
  const { engine, layout, header } = remote;
  if (source.size !== layout.size) return false;
  const { fileId, fileKey } = header;
  const whole = paddedSource(source, layout.padded);
  const digests = new Array<Bytes>(layout.count);
  await forEach(
    range(1, layout.count),
    concurrencyFor(largestVolume(layout), engine.parallel),
    async (idx) => {
      signal?.throwIfAborted();
      const { head, isLast } = await remote.openHead(idx, { signal });
      const place = { fileId, fileKey, idx, isLast };
      const salt = head.slice(0, SALT_BYTES);
      const sealed = await sealVolume(engine, place, whole, extentOf(layout, idx), {
        salt,
        digestOnly: true,
      });
      digests[idx - 1] = sealed.digest;
      sealed.release();
    },
  );
  return (await totalSha256(engine, digests)).toHex() === header.totalSha256;
}
