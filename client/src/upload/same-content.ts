import type { RemoteFile } from '../download/remote-file.ts';
import type { Bytes } from '../format/bytes.ts';
import { extentOf, totalSha256, volumeKeys } from '../format/volume.ts';
import { forEach, lanesFor, range } from '../pool.ts';
import type { Source } from './source.ts';

/**
 * Whether a source has the content of a file on the service. Nothing is fetched: sealed again under the file's key, the
 * volumes must have the digests that its header declares. What is sealed for this leaves no trace. @public
 */
export async function sameContent(
  remote: RemoteFile,
  source: Source,
  signal?: AbortSignal,
): Promise<boolean> {
  const { engine, layout, header } = remote;
  if (source.size !== layout.size) return false;
  const keys = volumeKeys(engine, header.fileKey, header.fileId, layout.count);
  const digests = new Array<Bytes>(layout.count);
  await forEach(range(1, layout.count), lanesFor(layout.volumeSize, engine.parallel), async (idx) => {
    signal?.throwIfAborted();
    const sealed = await engine.sealVolume(await keys(idx), source, extentOf(layout, idx));
    digests[idx - 1] = sealed.digest;
    sealed.release();
  });
  return (await totalSha256(engine, digests)).toHex() === header.totalSha256;
}
