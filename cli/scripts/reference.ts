/** Generates the man page and the reference in docs/cli.md from the same command table as `szafa --help`. */
import { type CommandEntry, optionsOf } from '../src/command.ts';
import { PATHS } from '../src/commands/files/table.ts';
import { EXIT_CODES, optionTerm, shownGroups, splitExample, usageLine } from '../src/help.ts';
import { commonOptions, type Option } from '../src/options.ts';

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

const ownOptions = (entry: CommandEntry): [string, Option][] =>
  optionsOf(entry).slice(0, entry.options?.length ?? 0);

/** Escapes text for Markdown. */
const plain = (text: string) => text.replace(/[*<|]/g, '\\$&');

function commandMarkdown([name, entry]: [string, CommandEntry]): string {
  const { summary, usage = '', details = [], examples } = entry;
  const paragraphs = [details]
    .flat()
    .map((text) =>
      text === PATHS
        ? '`PATH` is a path, a pattern or an ID: see [paths](#paths-and-patterns).'
        : plain(text),
    );
  const options = ownOptions(entry).map(
    ([option, about]) => `- \`${optionTerm(option, about)}\`: ${plain(about.help)}`,
  );
  const lines = examples.map(splitExample).map(([line, remark]) => (remark ? `${line}  # ${remark}` : line));
  return [
    `### szafa ${name}`,
    '',
    `\`szafa ${name}${usage && ` ${usage}`}\``,
    '',
    `${capital(plain(summary))}.`,
    ...paragraphs.flatMap((text) => ['', text]),
    ...(options.length > 0 ? ['', ...options] : []),
    '',
    '```sh',
    ...lines,
    '```',
  ].join('\n');
}

/** Returns one section per subject with its commands. */
export function markdownReference(): string {
  return shownGroups()
    .flatMap(([subject, group]) => [`## ${capital(subject)}`, ...group.map(commandMarkdown)])
    .join('\n\n');
}

/** Returns one line per common option. */
export function markdownCommonOptions(): string {
  return Object.entries(commonOptions)
    .map(([name, option]) => `- \`${optionTerm(name, option)}\`: ${plain(option.help)}`)
    .join('\n');
}

export function markdownExitCodes(): string {
  const rows = EXIT_CODES.map(([code, meaning]) => `| ${code} | ${meaning} |`);
  return ['| Exit code | |', '|---|---|', ...rows].join('\n');
}

/** Escapes text for roff: backslashes, hyphens, and dots or quotes at the start of a line. */
const roff = (text: string) =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/gm, '\\&$1');

const roffOption = ([name, option]: [string, Option]) => [
  '.TP',
  `.B ${roff(optionTerm(name, option))}`,
  roff(`${capital(option.help)}.`),
];

function commandRoff([name, entry]: [string, CommandEntry]): string[] {
  const examples = entry.examples
    .map(splitExample)
    .flatMap(([line, remark]) => [...(remark ? [`# ${remark}`] : []), line]);
  return [
    `.SS ${roff(usageLine(name, entry))}`,
    roff(`${capital(entry.summary)}.`),
    ...[entry.details ?? []].flat().flatMap((text) => ['.PP', roff(text)]),
    ...ownOptions(entry).flatMap(roffOption),
    '.PP',
    '.EX',
    ...examples.map(roff),
    '.EE',
  ];
}

export function manPage(version: string): string {
  return [
    `.TH SZAFA 1 "" "szafa ${version}" "szafa"`,
    '.SH NAME',
    'szafa \\- keep files on a server that cannot read them',
    '.SH SYNOPSIS',
    '.B szafa',
    'COMMAND [ARGUMENT…] [OPTION…]',
    '.SH DESCRIPTION',
    'Files are encrypted on this machine, under one password that never leaves it.',
    ...shownGroups().flatMap(([subject, group]) => [
      `.SH ${roff(subject.toUpperCase())}`,
      ...group.flatMap(commandRoff),
    ]),
    '.SH OPTIONS OF EVERY COMMAND',
    ...Object.entries(commonOptions).flatMap(roffOption),
    '.SH EXIT STATUS',
    ...EXIT_CODES.flatMap(([code, meaning]) => ['.TP', `.B ${code}`, roff(`${capital(meaning)}.`)]),
    '',
  ].join('\n');
}
