import { type ParseArgsOptionDescriptor, parseArgs } from 'node:util';
import { countArguments, optionsOf } from './command.ts';
import { commands } from './command-table.ts';
import { UsageError } from './errors.ts';
import { plural } from './lib/print/text.ts';
import { commonOptions, type Flags, type Option } from './options.ts';

export interface ParsedArguments {
  /** Undefined for `szafa` alone, `--help` and `--version`. */
  command?: string;
  args: string[];
  flags: Flags;
  version: boolean;
}

const NEVER_DELETES = 'szafa put uploads what has changed and never deletes; szafa rm deletes';

type Descriptors = Record<string, ParseArgsOptionDescriptor>;

function descriptors(some: Iterable<[string, Option]>): Descriptors {
  const known: Descriptors = {};
  for (const [name, { value, short, many }] of some) {
    const type = value ? 'string' : 'boolean';
    known[name] = { type, ...(short && { short }), ...(many && { multiple: true }) };
  }
  return known;
}

/** The command is the first word that is neither an option nor its value. */
function splitCommand(argv: string[]): { command: string | undefined; rest: string[] } {
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at]!;
    if (!word.startsWith('-') || word === '-') return { command: word, rest: argv.toSpliced(at, 1) };
    const long = word.startsWith('--') ? word.slice(2) : undefined;
    const name = Object.entries(commonOptions).find(
      ([key, option]) => key === long || ('short' in option && `-${option.short}` === word),
    );
    if (name && 'value' in name[1]) at++;
  }
  return { command: undefined, rest: argv };
}

/** Joins `--bwlimit -1` into `--bwlimit=-1`: parseArgs would read `-1` as an option, and our own check gives a better message. */
function withNumbers(argv: string[], known: Descriptors): string[] {
  const words: string[] = [];
  for (const word of argv) {
    const last = words.at(-1);
    const option = last?.startsWith('--') ? known[last.slice(2)] : undefined;
    if (option?.type === 'string' && /^-\d/.test(word)) words[words.length - 1] = `${last}=${word}`;
    else words.push(word);
  }
  return words;
}

function parse(argv: string[], known: Descriptors, help: string) {
  try {
    return parseArgs({
      args: withNumbers(argv, known),
      options: known,
      allowPositionals: true,
      strict: true,
    });
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (!code.startsWith('ERR_PARSE_ARGS')) throw error;
    const message = firstSentence(error as Error);
    const isDelete = /'--delete/.test(message);
    throw new UsageError(message, isDelete ? NEVER_DELETES : help);
  }
}

/** Returns the first sentence of an error message from Node, starting in lower case. */
function firstSentence(error: Error): string {
  const [first = ''] = error.message.split('\n');
  const [sentence = ''] = first.split(/\. (?=[A-Z])/);
  return sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, '');
}

export function parseArguments(argv: string[]): ParsedArguments {
  const all = 'see szafa --help';
  const { command, rest } = splitCommand(argv);
  if (command === undefined || command === 'help') {
    const known = { ...descriptors(Object.entries(commonOptions)), version: { type: 'boolean' } } as const;
    const { values, positionals } = parse(rest, known, all);
    const { version, ...flags } = values as Flags & { version?: boolean };
    const [about] = positionals;
    if (about !== undefined) findCommand(about);
    return {
      ...(about !== undefined && { command: about }),
      args: [],
      flags: { ...flags, help: !version },
      version: version ?? false,
    };
  }
  const entry = findCommand(command);
  const help = `see szafa ${command} --help`;
  const known = descriptors(optionsOf(entry));
  const { values, positionals } = parse(rest, known, help);
  const flags = values as Flags;
  if (!flags.help) checkCount(command, positionals, help);
  return { command, args: positionals, flags, version: false };
}

function findCommand(command: string) {
  const entry = Object.hasOwn(commands, command) ? commands[command] : undefined;
  if (entry) return entry;
  const near = Object.keys(commands).find((name) => name.startsWith(command) || command.startsWith(name));
  if (command === 'sync') throw new UsageError('there is no command "sync"', NEVER_DELETES);
  const hint = near ? `did you mean szafa ${near}? All commands: szafa --help` : 'all commands: szafa --help';
  throw new UsageError(`there is no command "${command}"`, hint);
}

function checkCount(command: string, args: string[], hint: string): void {
  const { usage = '' } = commands[command]!;
  const [least, most] = countArguments(usage);
  if (args.length < least) throw new UsageError(`${command} needs ${usage}`, hint);
  if (args.length > most) {
    const takes = most === 0 ? 'no argument' : `at most ${plural(most, 'argument')}`;
    throw new UsageError(`${command} takes ${takes}, not ${args.length}`, hint);
  }
}
