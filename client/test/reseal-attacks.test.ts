/** A service that says something else while all goes under a new master key. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeEncParams } from '@szafa/protocol';
import { readVolumeHeaders } from '../src/transfers/calls.ts';
import { proxy } from './hostile.ts';
import { epochsOf, more, NAMES, sent, setUp } from './resealing.ts';
import { password, sameUser } from './service.ts';

test('a service that refuses all names, and names none that it was sent, is not asked for ever', async () => {
  const { there } = await setUp(1);
  await there.replaceMaster({ password }, undefined);
  for (const files of [['ab'], [], 'x', null]) {
    proxy.requests.length = 0;
    proxy.before = (_method, path) =>
      path === NAMES ? { status: 412, body: Buffer.from(JSON.stringify({ error: 'no', files })) } : undefined;
    const outcome = await there.reseal().then(
      ({ failed }) => failed.length,
      (error: { status: number }) => error.status,
    );
    assert.equal(outcome, Array.isArray(files) && files.length > 0 ? 3 : 412);
    assert.ok(sent() <= 3, `${sent()} requests`);
  }
  proxy.before = undefined;
  assert.equal((await there.reseal()).files, 3);
});

test('a service that knows neither requests nor shares is no end of it; one that does not answer is', async () => {
  const { there } = await setUp(1);
  await there.replaceMaster({ password }, undefined);
  for (const name of ['/api/requests', '/api/shares']) {
    for (const status of [500, 404]) {
      proxy.before = (_method, path) =>
        path === name ? { status, body: Buffer.from('{"error":"not found"}') } : undefined;
      if (status === 500) await assert.rejects(there.reseal(), { code: 'api', status });
      else assert.deepEqual((await there.reseal()).failed, []);
    }
  }
  proxy.before = undefined;
  assert.deepEqual(new Set(await epochsOf(there)), new Set([2]));
});

test('an earlier name that the service brings back is told, not sealed anew as the newest', async () => {
  const { user } = await setUp(1);
  const [file] = (await user.list()).filter(({ path }) => path === 'papers/file 1');
  const { encParamsText } = await readVolumeHeaders(user.api, file!.fileId, 1);
  await user.rename([{ entry: file!, path: 'papers/renamed' }]);
  const there = await sameUser(user, proxy.url, more);
  assert.ok((await there.tree()).file('papers/renamed'));
  await there.replaceMaster({ password }, undefined);
  // The whole record of before: it was the owner's own.
  proxy.hostility = ({ path, headers, body }) => {
    if (path.startsWith(`/api/files/${file!.fileId}/`))
      return { headers: { ...headers, 'x-enc-params': encParamsText } };
    if (!path.startsWith('/api/files?')) return undefined;
    const list = JSON.parse(body.toString()) as { files: { file_id: string; file_name: string }[] };
    const { file_name } = file!.record;
    const files = list.files.map((one) => (one.file_id === file!.fileId ? { ...one, file_name } : one));
    return { body: Buffer.from(JSON.stringify({ ...list, files })) };
  };
  proxy.requests.length = 0;
  const { files, failed } = await there.reseal();
  const names = proxy.requests.filter(({ path }) => path === NAMES).map(({ sent }) => sent.toString());
  proxy.hostility = () => undefined;
  assert.equal(files, 2);
  assert.deepEqual(
    failed.map(({ about, error }) => [about, error.code, (error as { stage?: string }).stage]),
    [[file!.fileId, 'tampered', 'rev']],
  );
  assert.ok(!names.some((text) => text.includes(file!.fileId)));
  const renamed = (await there.list()).find(({ fileId }) => fileId === file!.fileId)!;
  assert.equal((await there.reseal()).files, 1);
  // What was sealed anew is remembered without a look at the list.
  proxy.hostility = ({ path, body }) => {
    if (!path.startsWith('/api/files?')) return undefined;
    const list = JSON.parse(body.toString()) as { files: { file_id: string }[] };
    const files = list.files.map((one) => (one.file_id === file!.fileId ? renamed.record : one));
    return { body: Buffer.from(JSON.stringify({ ...list, files })) };
  };
  const again = (await there.list()).find(({ fileId }) => fileId === file!.fileId)!;
  proxy.hostility = () => undefined;
  assert.deepEqual([again.path, again.problem?.code], ['papers/renamed', 'tampered']);
});

test('whoever only says that it is done, or that it is none of ours, is not believed', async () => {
  const { user, there } = await setUp(2);
  const [live, thrown] = (await user.list()).filter(({ name }) => name.startsWith('file'));
  await user.trash([thrown!]);
  await user.shareLink([{ entry: live!, name: 'one' }]);
  await there.replaceMaster({ password }, undefined);
  const forged = (text: string, epoch: number | undefined) => {
    if (epoch === undefined) return encodeEncParams({});
    const { header, ...rest } = JSON.parse(Buffer.from(text, 'base64').toString()) as { header: string };
    const json = JSON.parse(Buffer.from(header, 'base64url').toString()) as object;
    const changed = Buffer.from(JSON.stringify({ ...json, epoch })).toString('base64url');
    return encodeEncParams({ ...rest, header: changed });
  };
  for (const epoch of [2, 99, undefined]) {
    proxy.hostility = ({ path, headers, body }) => {
      if (path.startsWith(`/api/files/${live!.fileId}/`)) {
        return { headers: { ...headers, 'x-enc-params': forged(String(headers['x-enc-params']), epoch) } };
      }
      if (path === '/api/shares') {
        const { shares } = JSON.parse(body.toString()) as { shares: { own: string }[] };
        const own = Buffer.from(shares[0]!.own, 'base64url');
        own.writeUInt32BE(epoch ?? 2, 0);
        return {
          body: Buffer.from(JSON.stringify({ shares: [{ ...shares[0], own: own.toString('base64url') }] })),
        };
      }
      if (path !== `/api/trash/${thrown!.fileId}`) return undefined;
      const { enc_params } = JSON.parse(body.toString()) as { enc_params: string };
      return { body: Buffer.from(JSON.stringify({ enc_params: forged(enc_params, epoch) })) };
    };
    const { failed } = await there.reseal();
    assert.ok(
      [live!.fileId, thrown!.fileId].every((id) => failed.some(({ about }) => about === id)),
      `epoch ${epoch}`,
    );
    assert.equal(failed.length, 3, 'and the share');
    assert.ok(failed.every(({ error }) => error.code === 'tampered'));
  }
  proxy.hostility = () => undefined;
  const { files, shares, failed } = await there.reseal();
  assert.deepEqual([files, shares, failed], [2, 1, []]);
});
