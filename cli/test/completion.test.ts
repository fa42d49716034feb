import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { suite, test } from 'node:test';
import { commands } from '../src/command-table.ts';
import { completionScript } from '../src/completion.ts';

/** What bash offers for these words, the last of which is being typed. */
function offers(...words: string[]): string[] {
  const script = `${completionScript('bash', commands)}
compopt() { :; }
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _szafa; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const run = spawnSync('bash', ['-c', script, 'bash', 'szafa', ...words], { encoding: 'utf8', cwd: '/' });
  assert.equal(run.status, 0, run.stderr);
  assert.equal(run.stderr, '');
  return run.stdout.split('\n').filter((line) => line !== '');
}

suite('completion', () => {
  test('bash offers commands, options, shells and files', () => {
    assert.deepEqual(offers('reg'), ['register']);
    assert.equal(offers('').filter((word) => !word.startsWith('-')).length, Object.keys(commands).length);
    assert.deepEqual(offers('put', '--pu'), ['--pull', '--pull-address']);
    assert.deepEqual(offers('--json', 'put', '--volume'), ['--volume-size']);
    assert.deepEqual(
      offers('completion', '').filter((word) => !word.startsWith('-')),
      ['bash', 'zsh', 'fish'],
    );
    assert.deepEqual(offers('put', 'et'), ['etc']);
    assert.deepEqual(offers('get', 'x', '--output', 'et'), ['etc']);
    assert.deepEqual(offers('put', '--dir', ''), []);
  });

  test('every shell knows every command and every option of it', () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const script = completionScript(shell, commands) ?? '';
      for (const [name, { options }] of Object.entries(commands)) {
        const own = script
          .split('\n')
          .filter((line) => line.includes(name))
          .join('\n');
        for (const option of options) assert.ok(own.includes(option), `${shell}: ${name} --${option}`);
      }
    }
    assert.equal(completionScript('tcsh', commands), undefined);
    assert.equal(completionScript('constructor', commands), undefined);
  });
});
