import { type CommandEntry, optionsOf } from './command.ts';
import { commands } from './command-table.ts';
import { commonOptions, type Option } from './options.ts';

const COLUMNS = 80;

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

function table(rows: [string, string][]): string[] {
  const left = Math.min(26, Math.max(...rows.map(([first]) => first.length)));
  return rows.flatMap(([first, second]) => {
    const [head = '', ...more] = wrap(second, ' '.repeat(left + 4));
    if (first.length > left) return [`  ${first}`, head, ...more];
    return [`  ${first.padEnd(left)}${head.slice(left + 2)}`, ...more];
  });
}

function optionRow(name: string, { value, short, help }: Option): [string, string] {
  return [`${short ? `-${short}, ` : '    '}--${name}${value ? ` ${value}` : ''}`, help];
}

export function generalHelp(): string {
  return [
    'szafa keeps your files on a server that cannot read them.',
    '',
    'usage: szafa COMMAND [ARGUMENT…] [OPTION…]',
    '',
    'commands:',
    ...table(
      Object.entries(commands)
        .filter(([, { hidden }]) => !hidden)
        .map(([name, { summary }]) => [name, summary]),
    ),
    '',
    'options of every command:',
    ...table(Object.entries(commonOptions).map(([name, option]) => optionRow(name, option))),
    '      --version             show the version',
    '',
    'examples:',
    '  szafa register ewa --server https://szafa.example',
    '  szafa put photos',
    '  szafa ls -l photos/2026',
    '  szafa get photos --output /tmp',
    '',
    'szafa COMMAND --help shows more about a command.',
    'exit codes: 0 done, 1 failed, 2 wrong usage, 3 some files failed, 12 wrong password,',
    '130 interrupted',
    '',
  ].join('\n');
}

export function commandHelp(name: string): string {
  const entry: CommandEntry = commands[name]!;
  const own = optionsOf(entry)
    .slice(0, entry.options.length)
    .map(([option, about]) => optionRow(option, about));
  return [
    ...wrap(`szafa ${name}: ${entry.summary}`),
    '',
    `usage: szafa ${name} ${entry.usage}${entry.usage ? ' ' : ''}[OPTION…]`,
    ...(entry.details ?? []).flatMap((text) => ['', ...wrap(text)]),
    ...(own.length > 0 ? ['', 'options:', ...table(own)] : []),
    '',
    'options of every command:',
    ...table(Object.entries(commonOptions).map(([option, value]) => optionRow(option, value))),
    '',
    'examples:',
    ...entry.examples.map(([line, what]) => `  ${line}${what ? `    # ${what}` : ''}`),
    '',
  ].join('\n');
}
