import { limits, type Volume } from '@szafa/protocol';
import { BrokenDocument, parseDocument } from './documents.ts';
import type { Manifest } from './store.ts';

/** The specification of a group as it lies in a manifest: less than half of the bytes of a list of objects. */
interface Packed {
  /** All SHA-256, one behind the other, in Base64. */
  digests: string;
  /** Sizes with the number of volumes that follow each other and have it. */
  sizes: [size: number, count: number][];
}

const DIGEST_BYTES = 32;

export function pack(volumes: Volume[]): Packed {
  const sizes: [number, number][] = [];
  for (const { size } of volumes) {
    const last = sizes.at(-1);
    if (last?.[0] === size) last[1]++;
    else sizes.push([size, 1]);
  }
  const digests = Buffer.from(volumes.map(({ sha256 }) => sha256).join(''), 'hex').toString('base64');
  return { digests, sizes };
}

export function unpack(document: Packed): Volume[] {
  if (!isPacked(document)) throw new BrokenDocument('a specification is malformed');
  const digests = Buffer.from(document.digests, 'base64').toString('hex');
  const volumes: Volume[] = [];
  for (const [size, count] of document.sizes) {
    for (let i = 0; i < count; i++) {
      const at = volumes.length * DIGEST_BYTES * 2;
      volumes.push({ idx: volumes.length + 1, size, sha256: digests.slice(at, at + DIGEST_BYTES * 2) });
    }
  }
  return volumes;
}

/** A manifest as it lies in the store. */
export const textOfManifest = (manifest: Manifest) =>
  JSON.stringify({ ...manifest, volumes: pack(manifest.volumes) });

export function parseManifest(name: string, text: string): Manifest {
  const { volumes, ...rest } = parseDocument<Omit<Manifest, 'volumes'> & { volumes: Packed }>(name, text);
  return { ...rest, volumes: unpack(volumes) };
}

function isPacked(document: Packed | undefined): document is Packed {
  const { digests, sizes } = document ?? {};
  if (typeof digests !== 'string' || !Array.isArray(sizes)) return false;
  let total = 0;
  for (const entry of sizes) {
    if (!Array.isArray(entry) || !Number.isSafeInteger(entry[1]) || entry[1] < 1) return false;
    total += entry[1];
  }
  return total <= limits.volumesPerFile && Buffer.byteLength(digests, 'base64') === total * DIGEST_BYTES;
}
