/**
 * Generates parts of the documentation from the code: the settings in docs/settings.md from server/src/config.ts, the endpoints and
 * token scopes in docs/api.md from protocol/src/routes.ts, and the commands in docs/cli.md and the man page from the command table in
 * cli/src. Generated parts stand between markers. `--check` changes nothing and fails if a part is out of date.
 */
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import {
  answersOf,
  type Route,
  routes,
  type ScopeCheck,
  scopes,
  type TokenGrant,
  whyDenied,
} from '@szafa/protocol';
import type { TSchema } from 'typebox';
import {
  manPage,
  markdownCommonOptions,
  markdownExitCodes,
  markdownReference,
} from '../cli/scripts/reference.ts';
import { VERSION } from '../cli/src/main.ts';
import { settings } from '../server/src/config.ts';

function settingsTable(): string {
  const rows = Object.entries(settings).map(([name, { shown, about, secret }]) => {
    const names = secret ? `\`${name}\` or \`${name}_FILE\`` : `\`${name}\``;
    return `| ${names} | ${shown === '' ? 'none' : shown} | ${about} |`;
  });
  return ['| Variable | Default | Meaning |', '|---|---|---|', ...rows].join('\n');
}

interface SchemaParts {
  $id?: string;
  type?: string;
  const?: unknown;
  items?: TSchema;
  anyOf?: TSchema[];
  properties?: Record<string, TSchema>;
  required?: string[];
}

const BULLET_CHARS = 300;

/** Formats a list item. A long schema goes into a code block below it. */
function item(label: string, text: string): string {
  const line = `- ${label} \`${text}\``;
  if (line.length <= BULLET_CHARS) return line;
  const lines = text.match(/.{1,100}(?:, |$)/g) ?? [text];
  return [`- ${label}`, '', '  ```', ...lines.map((part) => `  ${part.trimEnd()}`), '  ```'].join('\n');
}

/** Formats a schema in a short, readable notation. */
function shape(schema: TSchema): string {
  const { type, properties, required = [], items, anyOf, const: literal, $id } = schema as SchemaParts;
  if ($id === 'Error') return '{error}';
  if ($id === 'Detail') return '{detail}';
  if (literal !== undefined) return String(literal);
  if (anyOf) return anyOf.map(shape).join(' or ');
  if (type === 'array' && items) return `[${shape(items)}, …]`;
  if (!properties) return String(type);
  const fields = Object.entries(properties).map(
    ([name, field]) => `${name}${required.includes(name) ? '' : '?'}: ${shape(field)}`,
  );
  return fields.length === 0 ? 'object' : `{${fields.join(', ')}}`;
}

function endpoints(): string {
  const sections = new Map<string, string[]>();
  for (const route of Object.values(routes) as Route[]) {
    const answers = Object.entries(answersOf(route))
      .sort(([a], [b]) => Number(a) - Number(b))
      .map(([status, answer]) =>
        typeof answer === 'string' ? `- ${status} ${answer}` : item(status, shape(answer)),
      );
    const bytes = route.rawBody === true ? 'raw bytes' : route.rawBody;
    const label = `Body${route.optionalBody ? ' (may be left out)' : ''}:`;
    const lines = [
      `#### ${route.method} ${route.path}`,
      '',
      `${route.summary}.${route.access === 'open' ? ' No token needed.' : ''}`,
      '',
      bytes === undefined && route.body ? item(label, shape(route.body)) : `- ${label} ${bytes ?? 'none'}`,
      ...(route.query ? [item('Query:', shape(route.query))] : []),
      ...(route.headers ? [item('Headers:', shape(route.headers))] : []),
      ...answers,
      '',
    ];
    sections.set(route.tag, [...(sections.get(route.tag) ?? []), ...lines]);
  }
  return [...sections].map(([tag, lines]) => `### ${tag}\n\n${lines.join('\n')}`).join('\n');
}

/** What a token for one directory can refer to, by scope check. */
const CONFINED: Record<ScopeCheck, string> = {
  file: 'files in it',
  'own file': 'files in it',
  files: 'files in it',
  transfer: 'uploads into it',
  'own transfer': 'uploads into it',
  target: 'only into it',
  targets: 'only into it',
  list: 'shows only it',
};

/** Returns the table of routes and the token scopes that can use them. */
function access(): string {
  const rows = (Object.values(routes) as Route[])
    .filter((route) => route.access !== 'open')
    .map((route) => {
      const may = (granted: TokenGrant) => whyDenied(route, granted) === undefined;
      const own = route.folder?.some((touch) => touch.startsWith('own ')) ? 'its own' : 'yes';
      const cells = scopes.map((scope) =>
        may({ scope, onlyDir: null }) ? (scope === 'append' ? own : 'yes') : '-',
      );
      const folder = may({ scope: 'full', onlyDir: 1 })
        ? route.folder?.map((touch) => CONFINED[touch]).join(', ') || 'yes'
        : '-';
      const system = route.access === 'system' ? 'only the system token' : folder;
      return `| ${route.method} ${route.path} | ${[...cells, system].join(' | ')} |`;
    });
  const head = `| | ${scopes.map((scope) => `\`${scope}\``).join(' | ')} | for one directory |`;
  return [head, '|---|---|---|---|---|', ...rows].join('\n');
}

/** Replaces the part between two markers. */
function withPart(text: string, name: string, part: string): string {
  const [begin, end] = [`<!-- ${name}: made by scripts/docs.ts -->`, `<!-- end of ${name} -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the markers of ${name} are missing`);
  return `${text.slice(0, from + begin.length)}\n\n${part.trimEnd()}\n\n${text.slice(to)}`;
}

const parts: [file: string, name: string, part: string][] = [
  ['docs/settings.md', 'settings', settingsTable()],
  ['docs/api.md', 'access', access()],
  ['docs/api.md', 'endpoints', endpoints()],
  ['docs/cli.md', 'commands', markdownReference()],
  ['docs/cli.md', 'options', markdownCommonOptions()],
  ['docs/cli.md', 'exits', markdownExitCodes()],
];
function update(file: string, name: string, rewrite: (old: string) => string): void {
  const old = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const text = rewrite(old);
  if (text === old) return;
  if (process.argv.includes('--check')) {
    console.error(`${file}: the ${name} differ from the code; run node scripts/docs.ts`);
    process.exitCode = 1;
  } else writeFileSync(file, text);
}
for (const [file, name, part] of parts) update(file, name, (old) => withPart(old, name, part));
update('cli/man/szafa.1', 'commands', () => manPage(VERSION));

/** List items that are too long to read. */
const longItems = globSync(['*.md', 'docs/*.md', '{client,cli,web,format}/*.md']).flatMap((file) =>
  readFileSync(file, 'utf8')
    .replace(/^ *```.*?^ *```$/gms, '')
    .split(/\n(?= *(?:[-*]|\d+\.) )|\n\n/)
    .filter((text) => /^ *(?:[-*]|\d+\.) /.test(text) && text.length > BULLET_CHARS)
    .map((text) => `${file}: a list item of ${text.length} characters: ${text.trim().slice(0, 60)}…`),
);
for (const fault of longItems) {
  console.error(fault);
  process.exitCode = 1;
}
