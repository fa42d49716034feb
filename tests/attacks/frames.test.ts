import assert from 'node:assert/strict';
import https from 'node:https';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { pathOf } from '@szafa/protocol';
import { Service, useService } from '../harness/index.ts';

const service = useService();
const PEM = fileURLToPath(new URL('../cross/certificates/self-signed.pem', import.meta.url));

test('no page of another one shows ours inside itself, the documentation neither', async () => {
  for (const path of ['/', '/docs', `/s/${'x'.repeat(22)}`]) {
    const { status, headers } = await service.call({ path });
    assert.equal(status, 200, path);
    const policy = String(headers['content-security-policy']).split('; ');
    for (const rule of [
      "frame-ancestors 'none'",
      "base-uri 'none'",
      "form-action 'none'",
      "default-src 'none'",
    ]) {
      assert.ok(policy.includes(rule), `${path}: ${rule}`);
    }
    for (const [name, value] of Object.entries({
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
      // Without TLS of its own.
      'strict-transport-security': undefined,
    }))
      assert.equal(headers[name], value, `${path}: ${name}`);
  }
});

test('whoever came with TLS never comes without it: Strict-Transport-Security, on every answer', async () => {
  const secure = new Service({ env: { SZ_TLS_CERT: PEM, SZ_TLS_KEY: PEM, SZ_WORKERS: '1' } });
  try {
    const { url } = await secure.start();
    for (const path of ['/', '/docs', pathOf('healthz'), pathOf('me'), '/nowhere']) {
      const found = await new Promise<string | undefined>((resolve, reject) => {
        const options = { rejectUnauthorized: false, agent: false, timeout: 60_000 };
        const request = https.get(`${url}${path}`, options, (answer) => {
          answer.resume().on('end', () => resolve(answer.headers['strict-transport-security']));
        });
        request.on('error', reject);
      });
      assert.match(String(found), /^max-age=\d{8}/, path);
    }
  } finally {
    // Its end asks without TLS.
    await secure.discard();
  }
});
