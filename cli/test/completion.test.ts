import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { suite, test } from 'node:test';
import { type Entry, Tree } from '@szafa/client/node';
import { commands } from '../src/command-table.ts';
import { completePath } from '../src/commands/shell.ts';
import { completionScript } from '../src/completion.ts';

/** What bash offers for these words, the last of which is being typed. */
function offers(...words: string[]): string[] {
  const script = `${completionScript('bash', commands)}
compopt() { [[ $2 == nospace ]] && options=nospace; }
szafa() { [[ $1 == complete ]] && case $3 in wi) printf '%s/\\n' "$2 with space" ;; *) printf '%s\\n' "$2 <$3>" ;; esac; }
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _szafa; printf '%s\\n' "\${COMPREPLY[@]}" $options`;
  const run = spawnSync('bash', ['-c', script, 'bash', 'szafa', ...words], { encoding: 'utf8', cwd: '/' });
  assert.equal(run.status, 0, run.stderr);
  assert.equal(run.stderr, '');
  return run.stdout.split('\n').filter((line) => line !== '');
}

suite('completion', () => {
  test('bash offers commands, options, shells and files', () => {
    assert.deepEqual(offers('reg'), ['register']);
    assert.equal(
      offers('').filter((word) => !word.startsWith('-')).length,
      Object.values(commands).filter(({ hidden }) => !hidden).length,
    );
    assert.deepEqual(offers('put', '--pu'), ['--pull', '--pull-address']);
    assert.deepEqual(offers('--json', 'put', '--volume'), ['--volume-size']);
    assert.deepEqual(
      offers('completion', '').filter((word) => !word.startsWith('-')),
      ['bash', 'zsh', 'fish'],
    );
    assert.deepEqual(offers('put', 'et'), ['etc']);
    assert.deepEqual(offers('get', 'x', '--output', 'et'), ['etc']);
    assert.deepEqual(offers('put', '--name', ''), []);
  });

  test('bash asks the server for paths and folders, by what was typed without its quotes', () => {
    assert.deepEqual(offers('get', 'wi'), ['path with space/', 'nospace']);
    assert.deepEqual(offers('get', 'a\\ b'), ['path <a b>']);
    assert.deepEqual(offers('ls', '"a b'), ['path <a b>']);
    assert.deepEqual(offers('put', '--dir', 'x'), ['path-folder <x>']);
    assert.deepEqual(offers('rm', '--no'), ['--now']);
  });

  test('what follows a path on the server ends at the next slash', () => {
    const tree = new Tree(
      ['top', 'd/a', 'd/b/c', 'd/b/d'].map((path) => ({ path, verified: true, size: 1 }) as Entry),
    );
    assert.deepEqual(completePath(tree, '', false), ['d/', 'top']);
    assert.deepEqual(completePath(tree, '/d/', false), ['/d/b/', '/d/a']);
    assert.deepEqual(completePath(tree, 'd/', true), ['d/b/']);
    assert.deepEqual(completePath(tree, 'd/b/c', false), ['d/b/c']);
    assert.deepEqual(completePath(tree, 'x/', false), []);
  });

  test('every shell knows every command and every option of it', () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const script = completionScript(shell, commands) ?? '';
      for (const [name, { options = [], hidden }] of Object.entries(commands)) {
        if (hidden) continue;
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
