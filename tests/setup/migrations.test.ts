import assert from 'node:assert/strict';
import { test } from 'node:test';
import { migrationFaults } from '../../scripts/migrations.ts';

test('released migrations are as they were released', () => assert.deepEqual(migrationFaults(), []));

test('a released migration that was changed or removed is reported, and new ones are allowed', () => {
  const released = [
    { release: '0.2.0', sha256: 'a' },
    { release: '0.3.0', sha256: 'b' },
  ];
  assert.deepEqual(migrationFaults(released, ['a', 'b', 'c']), []);
  assert.match(migrationFaults(released, ['a', 'x'])[0]!, /migration 2 was released with 0\.3\.0/);
  assert.equal(migrationFaults(released, []).length, 2);
});
