/** Bundled for the browser: runs vectors and names those that came out otherwise. */
import type {
  BagVector,
  BagWriterVector,
  FileVector,
  KdfVector,
  LayoutVector,
  NameVector,
  SealVector,
  VolumeVector,
  WriterVector,
} from '../../format/vectors/kinds.ts';
import {
  type IdentityVector,
  type LetterVector,
  runIdentity,
  runLetter,
} from '../../format/vectors/letter-vectors.ts';
import { type OwnVector, runOwn } from '../../format/vectors/own-vectors.ts';
import { type DeliveryVector, type RequestVector, runRequest } from '../../format/vectors/request-vectors.ts';
import { type LinkVector, runLink } from '../../format/vectors/share-vectors.ts';
import { runThumbnail, type ThumbnailVector } from '../../format/vectors/thumbnail-vectors.ts';
import {
  runBag,
  runBagWriter,
  runFile,
  runKdf,
  runLayout,
  runName,
  runSeal,
  runVolume,
  runWriter,
} from '../../format/vectors/vectors.ts';
import { appEngine } from '../../web/src/core/engine/engine.worker.ts';

const engine = appEngine();

const runners: Record<string, (vector: never) => Promise<[unknown, unknown]>> = {
  kdfs: async (vector: KdfVector) => {
    const { auth_secret, kek } = vector;
    return [await runKdf(engine, vector), { auth_secret, kek }];
  },
  seals: async (vector: SealVector) => [await runSeal(engine, vector), vector.expect],
  names: async (vector: NameVector) => [await runName(engine, vector), vector.expect],
  layouts: async (vector: LayoutVector) => [runLayout(vector), vector],
  volumes: async (vector: VolumeVector) => {
    const { sha256, sealed, expect } = vector;
    return [await runVolume(engine, vector), { sha256, sealed, expect }];
  },
  bags: async (vector: BagVector) => [await runBag(engine, vector), vector.expect],
  'bag-writers': async (vector: BagWriterVector) => [await runBagWriter(engine, vector), vector.expect],
  identities: async (vector: IdentityVector) => [await runIdentity(engine, vector), vector.expect],
  letters: async (vector: LetterVector) => [await runLetter(engine, vector), vector.expect],
  links: async (vector: LinkVector) => [await runLink(engine, vector), vector.expect],
  owns: async (vector: OwnVector) => [await runOwn(engine, vector), vector.expect],
  requests: async (vector: RequestVector | DeliveryVector) => [
    await runRequest(engine, vector),
    vector.expect,
  ],
  thumbnails: async (vector: ThumbnailVector) => {
    const { sha256, expect } = vector;
    return [await runThumbnail(engine, vector), { sha256, expect }];
  },
  writers: async (vector: WriterVector) => [await runWriter(engine, vector), vector.expect],
  files: async (vector: FileVector) => [await runFile(engine, vector), vector.expect],
};

/** The order of keys does not matter. */
function same(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  const keys = Object.keys({ ...a, ...b });
  return keys.every((key) => same((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]));
}

export async function run(kind: string, vectors: { name?: string }[]): Promise<string[]> {
  const faults: string[] = [];
  for (const vector of vectors) {
    const [got, wanted] = await runners[kind]!(vector as never);
    if (!same(got, wanted))
      faults.push(`${vector.name}: ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`);
  }
  return faults;
}
