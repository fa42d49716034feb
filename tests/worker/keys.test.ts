/** The engine of the page: keys that it holds leave no bytes behind. */
import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { after, test } from 'node:test';
import { type Bytes, webEngine } from '@szafa/client';
import { nodeEngine } from '@szafa/client/node';
import {
  labels,
  layoutOf,
  makeBag,
  openBag,
  openHeader,
  parseBag,
  parseHeader,
  seal,
  sealHeader,
  unseal,
} from '@szafa/format';

// The addresses of workers, which the bundler puts in; none is started here.
registerHooks({
  resolve: (specifier, context, next) =>
    specifier.endsWith('?worker&url')
      ? { url: 'data:text/javascript,export default "none"', shortCircuit: true }
      : next(specifier, context),
});
const { appEngine } = await import('../../web/src/core/engine/engine.worker.ts');

const node = nodeEngine();
after(() => node.close());

const isZero = (bytes: Bytes) => bytes.every((byte) => byte === 0);
const kekOf = () => new Uint8Array(32).fill(5);

test('a key that is held is zeros from then on, cannot be exported, and works as before', async () => {
  const engine = appEngine();
  const kek = await engine.hold(kekOf());
  assert.ok(isZero(kek));
  const key = engine.keyOf(kek);
  assert.equal(key.extractable, false);
  assert.throws(() => engine.keyOf(new Uint8Array(32)), TypeError, 'zeros alone stand for no key');
  const again = appEngine();
  for (const [one, handle] of [
    [engine, kek],
    [again, again.handleOf(key)],
  ] as const) {
    const sealed = await seal(webEngine(), kekOf(), labels.journal, Uint8Array.of(1, 2, 3));
    assert.deepEqual(await unseal(one, handle, labels.journal, sealed), { plain: Uint8Array.of(1, 2, 3) });
  }
});

test('a copy of a handle stands for no key, and is refused instead of taken for one', async () => {
  const engine = appEngine();
  const kek = await engine.hold(kekOf());
  const copy = kek.slice();
  await assert.rejects(seal(engine, copy, labels.journal, Uint8Array.of(1)), TypeError);
  await assert.rejects(async () => engine.hold(copy), TypeError);
  for (const one of [engine, webEngine(), node]) {
    const zeros = new Uint8Array(32);
    for (const use of [
      () => one.hkdf(zeros, zeros, zeros, 32),
      () => one.hmac(zeros, zeros),
      () => one.gcmSeal(zeros, zeros, zeros),
      () => one.gcmOpen(zeros, zeros, zeros),
      () => one.nameCipher(zeros, Uint8Array.of(1)),
      () => one.nameCipher(new Uint8Array(32).fill(1), zeros),
    ]) {
      await assert.rejects(async () => use(), TypeError);
    }
  }
});

test('master keys, and keys of opened files, are held; what is no key stays as it is', async () => {
  const engine = appEngine();
  const web = webEngine();
  const kek = await engine.hold(kekOf());
  const account = { serviceId: 'ab'.repeat(16), username: 'ann' };
  const bag = parseBag(await makeBag(engine, account, { password: kek }));
  const [opened] = await openBag(engine, bag, { type: 'password', kek });
  assert.ok(isZero(opened!.key));
  assert.equal(await engine.hold(opened!.key), opened!.key, 'held once more, a handle stays what it is');
  const [master] = await openBag(web, bag, { type: 'password', kek: kekOf() });
  assert.ok(!isZero(master!.key));

  const secrets = { fileId: new Uint8Array(16), fileKey: new Uint8Array(32).fill(9) };
  const metadata = { name: 'a', size: 3, rev: 1, gen: 1, added: 5 };
  const layout = layoutOf(metadata.size);
  const parts = { ...secrets, layout, totalSha256: '0'.repeat(64), metadata };
  const parsed = parseHeader({ ...(await sealHeader(web, { ...parts, master: master! })) });
  const { fileKey, metadata: read } = await openHeader(engine, parsed, opened!.key);
  assert.ok(isZero(fileKey));
  assert.deepEqual(read, metadata);
  assert.equal(engine.keyOf(fileKey).extractable, false);
  // Plaintext of the length of a key.
  const plain = new Uint8Array(32).fill(4);
  const text = await seal(web, secrets.fileKey, labels.metadata, plain.slice());
  assert.deepEqual(await unseal(engine, fileKey, labels.metadata, text), { plain });
  // A new one is still needed, for the journal.
  const fresh = { ...secrets, fileKey: new Uint8Array(32).fill(8) };
  const again = parseHeader({ ...(await sealHeader(engine, { ...parts, ...fresh, master: opened! })) });
  assert.ok(!isZero(fresh.fileKey));
  assert.deepEqual((await openHeader(web, again, master!.key)).fileKey, fresh.fileKey);
});
