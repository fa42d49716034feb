import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { suite, test } from 'node:test';
import { parseArguments } from '../src/arguments.ts';
import { optionsOf } from '../src/command.ts';
import { commands } from '../src/command-table.ts';
import { exits, UsageError } from '../src/errors.ts';
import { commandHelp, EXIT_CODES, generalHelp, splitExample } from '../src/help.ts';
import { VERSION } from '../src/main.ts';

suite('arguments', () => {
  test('options may stand before and after the command', () => {
    const parsed = parseArguments(['--json', '--server', 'put', 'put', 'a', '-', '--dir=x', '-t', '2']);
    assert.equal(parsed.command, 'put');
    assert.deepEqual(parsed.args, ['a', '-']);
    assert.deepEqual({ ...parsed.flags }, { json: true, server: 'put', dir: 'x', transfers: '2' });
  });

  test('some options may be given more than once, and one has another letter for lists', () => {
    const { flags } = parseArguments(['put', 'x', '--exclude', 'a', '-n', '--exclude=b']);
    assert.deepEqual([flags.exclude, flags['dry-run']], [['a', 'b'], true]);
    assert.deepEqual({ ...parseArguments(['ls', '-lR']).flags }, { long: true, recursive: true });
    assert.deepEqual({ ...parseArguments(['rm', '-rn', 'x']).flags }, { recursive: true, 'dry-run': true });
    assert.throws(() => parseArguments(['rm', '-R', 'x']), UsageError);
  });

  test('after -- everything is a name', () => {
    assert.deepEqual(parseArguments(['rm', '--yes', '--', '--dir']).args, ['--dir']);
  });

  test('help and version', () => {
    assert.equal(parseArguments([]).flags.help, true);
    assert.equal(parseArguments(['--version']).version, true);
    assert.equal(parseArguments(['help', 'put']).command, 'put');
    assert.equal(parseArguments(['put', '--help']).flags.help, true);
  });

  for (const [args, message] of [
    [['pu'], /no command "pu"/],
    [['constructor'], /no command "constructor"/],
    [['help', 'nothing'], /no command "nothing"/],
    [['put'], /put needs PATH/],
    [['quota', 'x'], /takes no argument/],
    [['find', 'a', 'b', 'c'], /at most 2 arguments, not 3/],
    [['ls', '--dir', 'x'], /unknown option '--dir'/],
    [['put', 'x', '--dir'], /argument missing/],
    [['put', 'x', '--pull=1'], /does not take an argument/],
  ] as [string[], RegExp][]) {
    test(`refused: ${args.join(' ')}`, () => {
      assert.throws(
        () => parseArguments(args),
        (error) => {
          assert.ok(error instanceof UsageError);
          assert.match(error.message, message);
          assert.match(error.message, /^[^A-Z]/);
          assert.match(error.hint, /szafa/);
          return true;
        },
      );
    });
  }

  test('the hint for sync and --delete says that put never deletes', () => {
    for (const args of [
      ['sync', 'a'],
      ['put', 'a', '--delete'],
    ]) {
      assert.throws(() => parseArguments(args), { hint: /never deletes/ });
    }
  });

  test('the help lists all exit codes', () => {
    assert.deepEqual(
      EXIT_CODES.map(([code]) => code),
      Object.values(exits),
    );
  });

  test('an abbreviation is not guessed, but named', () => {
    assert.throws(() => parseArguments(['regist']), { hint: /did you mean szafa register/ });
  });

  test('every command has help with examples that parse, and the help fits a terminal', async () => {
    for (const [name, entry] of Object.entries(commands)) {
      const text = commandHelp(name);
      assert.match(text, new RegExp(`usage: szafa ${name}`));
      if (!entry.hidden) assert.match(text, /examples:\n {2}\S/);
      for (const option of entry.options ?? [])
        assert.ok(text.includes(`--${option}`), `${name} --${option}`);
      for (const line of text.split('\n')) assert.ok(Array.from(line).length <= 100, line);
      for (const example of entry.examples) {
        const [line] = splitExample(example);
        const words = /szafa (.*)/.exec(line)?.[1]?.split(/[|)>]/)[0]?.trim().split(/\s+/) ?? [];
        assert.equal(parseArguments(words).command, name, example);
      }
      assert.equal(typeof (await entry.load()), 'function', name);
    }
    for (const [name, { hidden = false }] of Object.entries(commands)) {
      assert.equal(new RegExp(`^ {2}${name} `, 'm').test(generalHelp()), !hidden, name);
    }
  });

  test('no two options of one command share a letter', () => {
    for (const entry of Object.values(commands)) {
      const letters = optionsOf(entry).flatMap(([, { short }]) => short ?? []);
      assert.equal(new Set(letters).size, letters.length, letters.join());
    }
  });

  test('the version is that of the package', async () => {
    const text = await readFile(new URL('../package.json', import.meta.url), 'utf8');
    assert.equal(VERSION, (JSON.parse(text) as { version: string }).version);
  });
});
