import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import * as sdk from '@szafa/client/node';
import { RuleError } from '@szafa/protocol';
import { CliError, exits, Interrupted, Reported, UsageError } from '../src/errors.ts';
import { explain, isFatal } from '../src/explain.ts';
import { Output } from '../src/lib/print/output.ts';
import { Batch } from '../src/lib/transfer/batch.ts';

const system = (code: string) => Object.assign(new Error(`${code}: x`), { code, syscall: 'open', errno: -1 });

suite('errors', () => {
  const cases: [unknown, code: string, exit: number, hint: RegExp][] = [
    [new UsageError('x', 'y'), 'usage', 2, /y/],
    [new Interrupted(), 'interrupted', 130, /resume/],
    [new RuleError('username must be'), 'rule', 2, /./],
    [new sdk.WrongPasswordError(), 'wrong-password', 12, /--passphrase/],
    [new sdk.LockedError(), 'locked', 1, /szafa login/],
    [new sdk.TamperedError('volume', 'volume 1 was changed'), 'tampered', 1, /do not use/],
    [new sdk.UnsupportedError('params', 'x'), 'unsupported', 1, /another client/],
    [new sdk.FileChangedError(), 'file-changed', 1, /wait/],
    [new sdk.TargetExistsError('/x'), 'target-exists', 1, /--output/],
    [new sdk.ExistsError(['x']), 'exists', 1, /an older version/],
    [new sdk.UnexpectedAnswerError('http://x', 200, 'a web page'), 'not-the-service', 1, /SZ_SERVER/],
    [new sdk.NetworkError('gone'), 'network', 1, /same command again/],
    [new sdk.NetworkError('cert', { certificate: true }), 'network', 1, /NODE_EXTRA_CA_CERTS/],
    [new sdk.ApiError(401, {}), 'unauthorized', 1, /szafa login/],
    [new sdk.ApiError(403, {}, { outOfScope: true }), 'out-of-scope', 1, /token list/],
    [
      new sdk.ApiError(507, { error: 'the file would exceed your quota' }),
      'no-space',
      1,
      /trash empty.*rm --now/,
    ],
    [
      new sdk.ApiError(507, { error: 'the store is nearly full' }),
      'no-space',
      1,
      /disk is full: tell its operator/,
    ],
    [new sdk.ApiError(403, { error: 'this account is disabled' }), 'forbidden', 1, /^ask the operator/],
    [new sdk.ApiError(503, { error: 'the server is read-only for now' }), 'server', 1, /being maintained/],
    [new sdk.ApiError(404, { error: 'no such volume' }), 'not-found', 1, /has lost a part.*--force.*fsck/],
    [new sdk.TamperedError('volume', 'volume 2 was changed'), 'tampered', 1, /damaged.*--force.*fsck/],
    [new sdk.ApiError(429, {}, { retryAfter: 7 }), 'rate-limited', 1, /wait 7 s/],
    [system('ENOSPC'), 'ENOSPC', 1, /free some space/],
    [system('EACCES'), 'EACCES', 1, /permissions/],
    [system('EODD'), 'EODD', 1, /system/],
    [new TypeError('a mistake of ours'), 'internal', 1, /report/],
    ['not even an error', 'internal', 1, /report/],
  ];
  for (const [error, code, exit, hint] of cases) {
    test(`${(error as Error).name ?? typeof error} is ${code}`, () => {
      const explained = explain(error);
      assert.equal(explained.code, code);
      assert.equal(explained.exit, exit);
      assert.match(explained.hint, hint);
      assert.doesNotMatch(explained.message, /\n|^[A-Z][a-z]/);
    });
  }

  test('what would fail for every file stops the others', () => {
    assert.ok(isFatal(new sdk.NetworkError('x')));
    assert.ok(isFatal(new sdk.ApiError(401, {})));
    assert.ok(isFatal(system('ENOSPC')));
    assert.ok(!isFatal(system('ENOENT')));
    assert.ok(!isFatal(new sdk.TamperedError('volume', 'x')));
  });
});

suite('batch', () => {
  /** Says nothing here. */
  class Silent extends Output {
    readonly errors: string[] = [];
    override error({ message }: { message: string }): void {
      this.errors.push(message);
    }
  }

  async function run(outcomes: (Error | undefined)[]): Promise<number> {
    const out = new Silent({ json: false, quiet: true });
    const batch = new Batch(out, new AbortController().signal);
    const items = outcomes.map((outcome, i) => ({ name: String(i), outcome }));
    await batch.each(items, async ({ outcome }) => {
      if (outcome) throw outcome;
    });
    try {
      batch.finish();
      return exits.done;
    } catch (error) {
      assert.ok(error instanceof Reported);
      assert.ok(out.errors.length > 0);
      return error.exit;
    }
  }

  const failure = new CliError('x', 'x', 'x');
  test('all done, some failed, all failed, one failed', async () => {
    assert.equal(await run([undefined, undefined]), 0);
    assert.equal(await run([undefined, failure]), 3);
    assert.equal(await run([failure, failure]), 1);
    assert.equal(await run([failure]), 1);
    assert.equal(await run([new sdk.WrongPasswordError()]), 12);
    // One name among many that breaks a rule is no wrong usage of the command.
    assert.equal(await run([new RuleError('x')]), 1);
  });

  test('what hits all files is told once, however many are under way', async () => {
    const out = new Silent({ json: false, quiet: true });
    const batch = new Batch(out, new AbortController().signal);
    const fail = async () => {
      await new Promise((resolve) => setImmediate(resolve));
      throw new sdk.ApiError(507, { error: 'the store is nearly full' });
    };
    await batch.each(Array(20).fill('x'), fail, { parallel: 8 });
    assert.equal(batch.failed, 8);
    assert.deepEqual(out.errors, ['the store is nearly full']);
  });

  test('after a fatal error the rest is not tried', async () => {
    const batch = new Batch(new Silent({ json: false, quiet: true }), new AbortController().signal);
    const tried: string[] = [];
    const work = async (item: string) => {
      tried.push(item);
      if (item === '2') throw new sdk.NetworkError('gone');
    };
    await batch.each(['1', '2', '3', '4', '5'], work, { parallel: 2 });
    assert.equal(batch.failed, 1);
    assert.ok(batch.left >= 1, tried.join());
    assert.equal(batch.done + batch.failed + batch.left, 5);
  });
});
