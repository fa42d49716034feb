import { type CommandEntry, optionsOf } from './command.ts';
import { commandGroups, commands } from './command-table.ts';
import { commonOptions, type Option } from './options.ts';

const COLUMNS = 80;
const LEFT_COLUMNS = 26;

function wrap(text: string, indent = ''): string[] {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(' ')) {
    if (line.length + word.length >= COLUMNS && line !== indent) {
      lines.push(line.trimEnd());
      line = indent;
    }
    line += `${word} `;
  }
  return [...lines, line.trimEnd()];
}

function table(rows: [string, string][], most = LEFT_COLUMNS): string[] {
  const left = Math.min(most, Math.max(...rows.map(([first]) => first.length)));
  return rows.flatMap(([first, second]) => {
    const [head = '', ...more] = wrap(second, ' '.repeat(left + 4));
    if (first.length > left) return [`  ${first}`, head, ...more];
    return [`  ${first.padEnd(left)}${head.slice(left + 2)}`.trimEnd(), ...more];
  });
}

/** Formats an option, as in `-o, --output PATH`. */
export function optionTerm(name: string, { value, short }: Option): string {
  return `${short ? `-${short}, ` : ''}--${name}${value ? ` ${value}` : ''}`;
}

const optionRow = ([name, option]: [string, Option]): [string, string] => [
  `${option.short ? '' : '    '}${optionTerm(name, option)}`,
  option.help,
];

/** Returns the commands of each subject, without the hidden ones. */
export function shownGroups(): [subject: string, commands: [string, CommandEntry][]][] {
  return Object.entries(commandGroups).map(([subject, group]) => [
    subject,
    Object.entries(group).filter(([, { hidden }]) => !hidden),
  ]);
}

export function usageLine(name: string, { usage = '' }: CommandEntry): string {
  return `szafa ${name} ${usage}${usage ? ' ' : ''}[OPTION…]`;
}

/** Splits an example into its command line and its remark. */
export function splitExample(example: string): [line: string, remark: string] {
  const [line = '', remark = ''] = example.split('  # ');
  return [line, remark];
}

export const EXIT_CODES: [code: number, meaning: string][] = [
  [0, 'done'],
  [1, 'failed'],
  [2, 'wrong usage'],
  [3, 'some files failed, or grew while they were read; the others are done'],
  [12, 'wrong password, passphrase or two-factor code'],
  [130, 'interrupted by Ctrl-C, SIGTERM or SIGHUP'],
];

export function generalHelp(): string {
  const rows = shownGroups().flatMap(([, group]) => group);
  const left = Math.max(...rows.map(([name]) => name.length));
  const summaries = ([name, { summary }]: [string, CommandEntry]): [string, string] => [
    name.padEnd(left),
    summary,
  ];
  return [
    'szafa keeps your files on a server that cannot read them.',
    '',
    'usage: szafa COMMAND [ARGUMENT…] [OPTION…]',
    ...shownGroups().flatMap(([subject, group]) => ['', `${subject}:`, ...table(group.map(summaries))]),
    '',
    'options of every command:',
    ...table([...Object.entries(commonOptions).map(optionRow), ['    --version', 'show the version']]),
    '',
    'examples:',
    '  szafa register ewa --server https://szafa.example',
    '  szafa put photos',
    '  szafa ls -l photos/2026',
    '  szafa get photos --output /tmp',
    '',
    'exit codes:',
    ...table(EXIT_CODES.map(([code, meaning]) => [String(code), meaning])),
    '',
    'szafa COMMAND --help shows more about a command.',
    '',
  ].join('\n');
}

export function commandHelp(name: string): string {
  const entry: CommandEntry = commands[name]!;
  const own = optionsOf(entry).slice(0, entry.options?.length ?? 0);
  return [
    ...wrap(`szafa ${name}: ${entry.summary}`),
    '',
    `usage: ${usageLine(name, entry)}`,
    ...[entry.details ?? []].flat().flatMap((text) => ['', ...wrap(text)]),
    ...(own.length > 0 ? ['', 'options:', ...table(own.map(optionRow))] : []),
    '',
    'options of every command:',
    ...table(Object.entries(commonOptions).map(optionRow)),
    '',
    'examples:',
    ...table(entry.examples.map(splitExample), COLUMNS / 2),
    '',
  ].join('\n');
}
