import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, withService } from '../harness/index.ts';

const WARNING = /anyone who can reach 0\.0\.0\.0 can fill the disk/g;

test('on an address that others reach the start warns, once, of what is open, and names the settings', async () => {
  await withService({ env: { SZ_HOST: '0.0.0.0' } }, async (service) => {
    await eventually(async () => assert.equal(service.log.match(WARNING)?.length, 1));
    assert.match(service.log, /SZ_REGISTRATION=invite or closed.*SZ_QUOTA_ENFORCE=1/);
    const before = service.log.length;
    const closed = { SZ_HOST: '0.0.0.0', SZ_REGISTRATION: 'closed', SZ_QUOTA_ENFORCE: '1', SZ_WORKERS: '1' };
    await service.restart({ env: closed });
    // Lines are written in order; a stop is the last one.
    await service.terminate();
    assert.doesNotMatch(service.log.slice(before), WARNING);
    await service.restart({ env: { SZ_WORKERS: '1' } });
    await service.terminate();
    assert.doesNotMatch(service.log.slice(before), /can fill the disk/);
  });
});
