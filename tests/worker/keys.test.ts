/** The engine of the page: keys that it holds leave no bytes behind. */
import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { test } from 'node:test';
import { type Bytes, webEngine } from '@szafa/client';
import { labels, makeRing, openRing, seal, unseal } from '@szafa/client/format';

// The addresses of workers, which the bundler puts in; none is started here.
registerHooks({
  resolve: (specifier, context, next) =>
    specifier.endsWith('?worker&url')
      ? { url: 'data:text/javascript,export default "none"', shortCircuit: true }
      : next(specifier, context),
});
const { holdingEngine } = await import('../../web/src/worker/engine.ts');

const isZero = (bytes: Bytes) => bytes.every((byte) => byte === 0);
const kekOf = () => new Uint8Array(32).fill(5);

test('a key that is held is zeros from then on, cannot be exported, and works as before', async () => {
  const engine = holdingEngine();
  const kek = await engine.hold(kekOf());
  assert.ok(isZero(kek));
  const key = engine.keyOf(kek);
  assert.equal(key.extractable, false);
  assert.throws(() => engine.keyOf(new Uint8Array(32)), TypeError, 'zeros alone stand for no key');
  const again = holdingEngine();
  for (const [one, handle] of [
    [engine, kek],
    [again, again.handleOf(key)],
  ] as const) {
    const sealed = await seal(webEngine(), kekOf(), labels.journal, Uint8Array.of(1, 2, 3));
    assert.deepEqual(await unseal(one, handle, labels.journal, sealed), { plain: Uint8Array.of(1, 2, 3) });
  }
});

test('master keys, made or opened, and keys of opened files are held; what is no key stays as it is', async () => {
  const engine = holdingEngine();
  const web = webEngine();
  const kek = await engine.hold(kekOf());
  const made = await makeRing(engine, kek, new Uint8Array(16));
  assert.ok(isZero(made.master));
  const opened = await openRing(engine, kek, made.ring);
  assert.ok(isZero(opened));
  const master = await openRing(web, kekOf(), made.ring);
  const fileKey = new Uint8Array(32).fill(9);
  const sealedKey = await seal(web, master, labels.fileKey, fileKey);
  for (const handle of [made.master, opened]) {
    const held = await unseal(engine, handle, labels.fileKey, sealedKey);
    assert.ok('plain' in held && isZero(held.plain));
    const text = await seal(web, fileKey, labels.metadata, new Uint8Array(32).fill(4));
    assert.deepEqual(await unseal(engine, held.plain, labels.metadata, text), {
      plain: new Uint8Array(32).fill(4),
    });
  }
  // A new one is still needed, for the journal.
  const fresh = new Uint8Array(32).fill(8);
  await seal(engine, made.master, labels.fileKey, fresh);
  assert.ok(!isZero(fresh));
});
