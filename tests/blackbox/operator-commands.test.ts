import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type AccountLimits, pathOf } from '@szafa/protocol';
import {
  assertDetail,
  assertError,
  assertOk,
  begin,
  command,
  freshName,
  makeFile,
  putVolume,
  register,
  upload,
  useService,
} from '../harness/index.ts';

const service = useService();

/** What it told, of a command that must have worked. */
async function run(...args: string[]): Promise<Record<string, unknown>[]> {
  const { code, errors, out, lines } = await command(service, [...args, '--json']);
  assert.equal(code, 0, errors + out);
  assert.equal(lines.at(-1)!['ok'], true);
  return lines.slice(0, -1);
}

describe('commands of operators, beside a running server', { concurrency: 2 }, () => {
  test('account: list, show, quota, limits, disable, enable, logout, delete', async () => {
    const user = await register(service);
    const { username } = user;
    await upload(user, makeFile([70], { file_size: 7 }));
    const listed = await run('account', 'list', '--after', username.slice(0, -1), '--limit', '5');
    assert.ok(listed.length <= 5);
    const found = listed.find((line) => line['username'] === username)!;
    assert.deepEqual([found['files'], found['used_bytes']], [1, 7]);
    assert.equal((await run('account', 'quota', username, '2G'))[0]!['quota_bytes'], 2 * 1024 ** 3);
    assert.equal((await user.get(pathOf('quota'))).json['quota_bytes'], 2 * 1024 ** 3);
    await run('account', 'limits', username, '--open-transfers', '1', '--upload-rate', '1M');
    const [shown] = await run('account', 'show', username);
    assert.equal((shown!['limits'] as AccountLimits).upload_rate, 1024 ** 2);
    await begin(user, makeFile([1]));
    assertError(await user.post(pathOf('init'), makeFile([1]).init), 429);
    await run('account', 'limits', username, '--open-transfers', 'default');
    assertOk(await user.post(pathOf('init'), makeFile([1]).init));
    await run('account', 'disable', username);
    assertError(await user.get(pathOf('me')), 403);
    await run('account', 'enable', username);
    assertOk(await user.get(pathOf('me')));
    assert.equal((await run('account', 'factor-off', username))[0]!['was on'], false);
    assert.equal((await run('account', 'logout', username))[0]!['sessions ended'], 1);
    assertDetail(await user.get(pathOf('me')), 401);
    // Not without being asked twice.
    const asked = await command(service, ['account', 'delete', username]);
    assert.equal(asked.code, 2);
    assert.match(asked.errors, /1 files \(7 B\).*--yes/);
    await run('account', 'delete', username, '--yes');
    const gone = await command(service, ['account', 'show', username]);
    assert.deepEqual([gone.code, gone.errors], [1, 'szafa: no such account\n']);
    const actions = (await run('audit', '--account', username)).map(
      ({ actor, action }) => `${actor}: ${action}`,
    );
    assert.deepEqual(actions, [
      'operator: deleted',
      'operator: sessions ended',
      'operator: enabled',
      'operator: disabled',
      'operator: limits changed',
      'operator: limits changed',
      'operator: quota changed',
      'account: registered',
    ]);
  });

  test('transfers, invitations, status, audit, version', async () => {
    const user = await register(service);
    const file = makeFile([10]);
    const transferId = await begin(user, file);
    const [upload] = await run('transfers', 'list', '--account', user.username);
    assert.ok(!JSON.stringify(upload).includes(transferId));
    await run('transfers', 'cancel', String(upload!['file_id']));
    assertError(await putVolume(user, transferId, 1, file.volumes[0]!), 404);
    const [invitation] = await run('account', 'invite', '--note', 'for bo', '--quota', '5K', '--days', '2');
    const { invite, link, id } = invitation as Record<string, string>;
    assert.equal(link, `/#invite=${invite}`);
    const sent = { username: freshName(), password: 'secret-word', invite };
    const answer = await service.call({ method: 'POST', path: pathOf('register'), json: sent });
    assertOk(answer);
    const quota = await service.call({ path: pathOf('quota'), token: String(answer.json['token']) });
    assert.equal(quota.json['quota_bytes'], 5 * 1024);
    const used = await command(service, ['account', 'uninvite', id!, '--json']);
    assert.deepEqual([used.code, used.lines], [1, [{ ok: false, error: 'no such invitation' }]]);
    const [status] = await run('status');
    assert.equal(status!['read_only_since'], null);
    assert.equal((await run('audit', '--limit', '2')).length, 2);
    const version = await command(service, ['--version']);
    assert.match(version.out, /^szafa-server \d+\.\d+\.\d+\n$/);
  });

  test('wrong usage is exit code 2 and one line; --help tells the exit codes', async () => {
    const { code, errors } = await command(service, ['account', 'remove', 'x']);
    assert.equal(code, 2, errors);
    assert.match(errors, /^szafa: [^\n]+\n$/);
    const help = await command(service, ['account', '--help']);
    assert.equal(help.code, 0);
    assert.match(help.out, /The exit code is 0/);
  });
});
