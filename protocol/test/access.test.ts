import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkExpiry, isRestricted, type Route, RuleError, routes, whyDenied } from '@szafa/protocol';

const TOKEN = { scope: 'append', onlyDir: null } as const;

test('a refusal says what the token is, and which one is needed', () => {
  const route: Route = routes.readVolume;
  assert.equal(whyDenied(route, { scope: 'read', onlyDir: 7 }), undefined);
  assert.match(whyDenied(route, TOKEN)!, /has the scope append; .* with the scope full or read$/);
  assert.match(whyDenied(routes.createDir, { scope: 'append', onlyDir: 7 })!, /whole account$/);
  assert.match(whyDenied(routes.metrics, { scope: 'full', onlyDir: null })!, /system token/);
  assert.equal(whyDenied(routes.login, TOKEN), undefined);
});

test('only a token with the scope full for the whole account is not confined', () => {
  assert.equal(isRestricted({ scope: 'full', onlyDir: null }), false);
  assert.equal(isRestricted({ scope: 'full', onlyDir: 1 }), true);
  assert.equal(isRestricted(TOKEN), true);
});

test('a route that tokens for one directory may use says of each id in its path what it is', () => {
  for (const { path, folder } of Object.values(routes) as Route[]) {
    if (!folder) continue;
    if (path.includes('{file_id}')) assert.ok(folder.includes('file') || folder.includes('own file'), path);
    // Where the client chooses the id, nobody has a transfer of that id yet.
    const names = path.includes('{transfer_id}') && path !== routes.writeFile.path;
    if (names) assert.ok(folder.includes('transfer') || folder.includes('own transfer'), path);
  }
});

test('an end is a time in UTC that has not come yet', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  assert.equal(checkExpiry(undefined, now), null);
  assert.equal(checkExpiry(null, now), null);
  assert.equal(checkExpiry('2026-01-01T00:00:00.001Z', now), now + 1);
  assert.equal(checkExpiry('9999-12-31T23:59Z', now), Date.parse('9999-12-31T23:59Z'));
  for (const bad of [
    '',
    '2026-01-01T00:00:00Z',
    '2027-01-01',
    '2027-01-01T00:00:00',
    '2027-13-01T00:00Z',
    '1',
  ])
    assert.throws(() => checkExpiry(bad, now), RuleError, bad);
});
