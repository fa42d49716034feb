import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type {
  BagVector,
  BagWriterVector,
  FileVector,
  KdfVector,
  LayoutVector,
  NameVector,
  PasskeyVector,
  RecoveryVector,
  SealVector,
  VolumeVector,
  WriterVector,
} from '../../format/vectors/kinds.ts';
import {
  type IdentityVector,
  type LetterVector,
  runIdentity,
  runIdentityWriter,
  runLetter,
  runLetterWriter,
} from '../../format/vectors/letter-vectors.ts';
import { type OwnVector, runOwn, runOwnWriter } from '../../format/vectors/own-vectors.ts';
import {
  type DeliveryVector,
  type RequestVector,
  runRequest,
  runRequestWriter,
} from '../../format/vectors/request-vectors.ts';
import { type LinkVector, runLink, runLinkWriter } from '../../format/vectors/share-vectors.ts';
import { runThumbnail, type ThumbnailVector } from '../../format/vectors/thumbnail-vectors.ts';
import {
  type PathVector,
  runParts,
  runVersions,
  type VersionVector,
} from '../../format/vectors/tree-vectors.ts';
import {
  runBag,
  runBagWriter,
  runFile,
  runKdf,
  runLayout,
  runName,
  runPasskey,
  runRecovery,
  runSeal,
  runVolume,
  runWriter,
} from '../../format/vectors/vectors.ts';
import { type RemoteFile, webEngine } from '../src/index.ts';
import { diskPath, downloadToFile, nodeEngine, pathText } from '../src/node/index.ts';

function load<T>(name: string): T[] {
  return JSON.parse(
    readFileSync(new URL(`../../format/vectors/${name}.json`, import.meta.url), 'utf8'),
  ) as T[];
}

const files = load<FileVector>('files');
const native = nodeEngine();
after(() => native.close());

test('there are enough vectors, each with a name of its own', () => {
  const names = files.map(({ name }) => name);
  assert.equal(new Set(names).size, names.length);
  assert.ok(files.filter(({ expect }) => 'stage' in expect).length >= 120);
});

test('layouts', () => {
  for (const vector of load<LayoutVector>('layouts')) assert.deepEqual(runLayout(vector), vector);
});

test('versions', () => {
  for (const vector of load<VersionVector>('versions'))
    assert.deepEqual(runVersions(vector), vector.expect, vector.name);
});

test('paths', () => {
  for (const vector of load<PathVector>('paths')) {
    const { kind, name, expect } = vector;
    if (kind === 'parts') assert.deepEqual(runParts(vector.path), expect, name);
    else {
      const bytes = Buffer.from(vector.bytes, 'hex');
      assert.equal(pathText(bytes), expect, name);
      assert.deepEqual(Buffer.from(diskPath(expect)), bytes, name);
    }
  }
});

test('files that are written to disk: the same bytes, or the same refusal and no file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'szafa-vectors-'));
  const path = join(folder, 'file');
  try {
    for (const vector of files) {
      const outcome = await runFile(native, vector, async (remote: RemoteFile) => {
        await downloadToFile(remote, path);
        return readFileSync(path);
      });
      assert.deepEqual(outcome, vector.expect, `${vector.name}: ${vector.about}`);
      assert.deepEqual(readdirSync(folder), 'stage' in vector.expect ? [] : ['file'], vector.name);
      rmSync(path, { force: true });
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

for (const [name, engine] of [
  ['Web Crypto', webEngine()],
  ['Node', native],
] as const) {
  describe(name, () => {
    test('keys', async () => {
      for (const vector of load<KdfVector>('kdfs')) {
        const { auth_secret, kek } = vector;
        assert.deepEqual(await runKdf(engine, vector), { auth_secret, kek }, vector.name);
      }
    });

    test('seals', async () => {
      for (const vector of load<SealVector>('seals')) {
        assert.deepEqual(await runSeal(engine, vector), vector.expect, vector.name);
      }
    });

    test('names', async () => {
      for (const vector of load<NameVector>('names')) {
        assert.deepEqual(await runName(engine, vector), vector.expect, vector.name);
      }
    });

    test('volumes', async () => {
      for (const vector of load<VolumeVector>('volumes')) {
        const { sha256, sealed, expect } = vector;
        const wanted = { sha256, ...(sealed !== undefined && { sealed }), expect };
        assert.deepEqual(await runVolume(engine, vector), wanted, `${vector.name}: ${vector.about}`);
      }
    });

    test('bags', async () => {
      for (const vector of load<BagVector>('bags')) {
        assert.deepEqual(await runBag(engine, vector), vector.expect, `${vector.name}: ${vector.about}`);
      }
      for (const vector of load<BagWriterVector>('bag-writers')) {
        assert.deepEqual(await runBagWriter(engine, vector), vector.expect, vector.name);
      }
    });

    test('recovery keys', async () => {
      for (const vector of load<RecoveryVector>('recoveries')) {
        assert.deepEqual(await runRecovery(engine, vector), vector.expect, vector.name);
      }
    });

    test('passkeys', async () => {
      for (const vector of load<PasskeyVector>('passkeys')) {
        assert.deepEqual(await runPasskey(engine, vector), vector.expect, vector.name);
      }
    });

    test('links', async () => {
      for (const vector of load<LinkVector>('links')) {
        assert.deepEqual(await runLink(engine, vector), vector.expect, `${vector.name}: ${vector.about}`);
        if (!vector.random || vector.many || !('content' in vector.expect)) continue;
        const { fragment, header } = vector;
        assert.deepEqual(await runLinkWriter(engine, vector), { fragment, header }, vector.name);
      }
    });

    test('identities', async () => {
      for (const vector of load<IdentityVector>('identities')) {
        assert.deepEqual(await runIdentity(engine, vector), vector.expect, `${vector.name}: ${vector.about}`);
        if (vector.secrets)
          assert.equal(await runIdentityWriter(engine, vector), vector.document, vector.name);
      }
    });

    test('letters', async () => {
      for (const vector of load<LetterVector>('letters')) {
        assert.deepEqual(await runLetter(engine, vector), vector.expect, `${vector.name}: ${vector.about}`);
        if (vector.written) assert.equal(await runLetterWriter(engine, vector), vector.letter, vector.name);
      }
    });

    test('requests', async () => {
      for (const vector of load<RequestVector | DeliveryVector>('requests')) {
        assert.deepEqual(await runRequest(engine, vector), vector.expect, `${vector.name}: ${vector.about}`);
        const written = await runRequestWriter(engine, vector);
        if (!written) continue;
        const { fragment, header } = vector as RequestVector;
        const wanted = vector.kind === 'request' ? { fragment, header } : vector.enc_params;
        assert.deepEqual(written, wanted, vector.name);
      }
    });

    test('what an owner keeps beside shares and requests', async () => {
      for (const vector of load<OwnVector>('owns')) {
        assert.deepEqual(await runOwn(engine, vector), vector.expect, `${vector.name}: ${vector.about}`);
        if (vector.written) assert.equal(await runOwnWriter(engine, vector), vector.own, vector.name);
      }
    });

    test('thumbnails', async () => {
      for (const vector of load<ThumbnailVector>('thumbnails')) {
        const { sha256, expect } = vector;
        assert.deepEqual(await runThumbnail(engine, vector), { sha256, expect }, vector.name);
      }
    });

    test('writers', async () => {
      for (const vector of load<WriterVector>('writers')) {
        assert.deepEqual(await runWriter(engine, vector), vector.expect, vector.name);
      }
    });

    for (const vector of files) {
      test(`file: ${vector.name}`, async () => {
        assert.deepEqual(await runFile(engine, vector), vector.expect, vector.about);
      });
    }
  });
}
