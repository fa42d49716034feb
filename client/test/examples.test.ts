import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { roundTrip } from '../examples/browser.ts';
import type { Szafa } from '../src/index.ts';
import { content, engine, newUser, password, type Service, startService, transport } from './service.ts';

let service: Service;
let szafa: Szafa;
before(async () => {
  service = await startService();
  szafa = await newUser(service.url, { engine });
});
after(async () => {
  await service.stop();
  transport.close();
  await engine.close();
});

test('the example for Node', async () => {
  const [file, copy] = [join(service.folder, 'film.bin'), join(service.folder, 'copy.bin')];
  writeFileSync(file, content(9_000_000));
  const script = fileURLToPath(new URL('../examples/node.ts', import.meta.url));
  const env = { ...process.env, SZ_SERVER: service.url, SZ_USER: szafa.username, SZ_PASSWORD: password };
  const { stdout } = await promisify(execFile)(process.execPath, [script, file, copy], {
    env,
    timeout: 60_000,
  });
  assert.match(stdout, /in 2 volumes\nfilm\.bin: 9000000 bytes, verified/);
  assert.equal(Buffer.compare(readFileSync(copy), content(9_000_000)), 0);
});

test('the example for the browser uses web APIs only, and so runs here too', async () => {
  const file = new File([content(9_000_000)], 'zdjęcie.png', { type: 'image/png' });
  const { name, verified, preview, blob, progress } = await roundTrip(
    service.url,
    szafa.username,
    password,
    file,
  );
  assert.deepEqual([name, verified], ['zdjęcie.png', true]);
  assert.deepEqual(preview, content(16));
  assert.equal(Buffer.compare(new Uint8Array(await blob.arrayBuffer()), content(9_000_000)), 0);
  assert.equal(progress.at(-1), '9000000 of 9000000');
});
