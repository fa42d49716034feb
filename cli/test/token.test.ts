import assert from 'node:assert/strict';
import { test } from 'node:test';
import { token } from '../src/commands/accounts/sessions.ts';
import { readSettings } from '../src/lib/account/settings.ts';
import { Output } from '../src/lib/print/output.ts';
import { parseEnd } from '../src/lib/print/quantities.ts';
import { Batch } from '../src/lib/transfer/batch.ts';
import type { Flags } from '../src/options.ts';

const NOW = Date.parse('2026-11-16T12:00:00Z');

test('an end is a time from now, or the end of a day', () => {
  const end = (text: string) => parseEnd('expires', text, NOW);
  assert.equal(end('12h'), '2026-11-17T00:00:00.000Z');
  assert.equal(end('90d'), '2027-02-14T12:00:00.000Z');
  assert.equal(end(' 2W '), '2026-11-30T12:00:00.000Z');
  assert.equal(end('1y'), '2027-11-16T12:00:00.000Z');
  assert.equal(end('2026-11-16'), '2026-11-16T23:59:59.000Z');
  for (const bad of ['', '0', '90', '1m', '-1d', '2026-11-15', '2026-13-01', '2026-11-17T00:00:00Z', 'soon'])
    assert.throws(() => end(bad), { code: 'usage' }, bad);
  // The server says it of what it takes for past.
  assert.equal(end('0d'), '2026-11-16T12:00:00.000Z');
});

test('wrong usage is told before anything is asked or sent', async () => {
  const out = new Output({ json: false, quiet: true });
  const wrong = async (args: string[], flags: Flags, message: RegExp) => {
    const settings = readSettings({ server: 'http://127.0.0.1:1', config: '/nowhere' }, {});
    const signal = AbortSignal.timeout(10_000);
    const batch = new Batch(out, signal);
    const invocation = { args, flags, settings, out, batch, began: 0, signal };
    await assert.rejects(token(invocation), (error: Error & { code: string }) => {
      assert.equal(error.code, 'usage', error.message);
      assert.match(error.message, message);
      return true;
    });
  };
  const create = ['create', 'web1'];
  await wrong(['create'], { scope: 'read' }, /needs a NAME/);
  await wrong(create, {}, /needs --scope/);
  await wrong(create, { scope: 'write' }, /no scope "write"/);
  await wrong(create, { scope: 'read', expires: 'soon' }, /not a time in the future/);
  await wrong(create, { scope: 'read', dir: '/' }, /one top-level folder/);
  await wrong(['end'], {}, /needs an ID/);
  await wrong(['forget'], {}, /there is no "token forget"/);
  await wrong(['list', 'all'], {}, /there is no "token list all"/);
  await wrong([], { scope: 'read' }, /--scope is for token create/);
  await wrong(['end', 'x'], { output: 'y' }, /--output is for token create/);
});
