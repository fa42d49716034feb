import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { limits } from '@szafa/protocol';
import type { SchemaObject as Schema } from 'ajv';
import { CONFINED, PAGE_HEADERS } from './page.ts';

interface Content {
  description?: string;
  required?: boolean;
  content?: Record<string, { schema?: Schema }>;
}

interface Operation {
  method: string;
  path: string;
  operationId: string;
  summary: string;
  tags: string[];
  security: object[];
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema?: Schema }[];
  requestBody?: Content;
  responses: Record<string, Content>;
}

/** The OpenAPI document of our routes. */
export interface Document {
  info: { description: string };
  paths: Record<string, Record<string, Omit<Operation, 'method' | 'path'>>>;
  components: { schemas: Record<string, Schema> };
}

/** Values for the examples, by field name. Together they describe an empty file. */
const EMPTY_SHA256 = createHash('sha256').digest('hex');
const FILE_ID = '0'.repeat(32);
const SAMPLES: Record<string, unknown> = {
  username: 'ada',
  password: 'correct horse battery',
  name: 'photos',
  match: 'pictures',
  files: [{ file_id: FILE_ID, file_name: 'holiday.mkv', enc_params: 'e30=', match: EMPTY_SHA256 }],
  file_name: 'holiday.mkv',
  file_size: 0,
  total_sha256: EMPTY_SHA256,
  chunk_count: 1,
  chunks: [{ size: 0, sha256: EMPTY_SHA256 }],
  enc_params: {},
  dir_id: null,
  base_url: 'http://192.0.2.1:9000',
  token: 'one-time-token',
  keys: 'AQID',
  device: 'the backup of web1',
  scope: 'append',
  current: 'correct horse battery',
  next: 'battery staple horse',
  secret: 'A'.repeat(limits.totp.secretChars),
  code: '000000',
  recovery: 'QUFBQUFBQUFBQUFBQUFBQUFBQUE',
  id: 'A'.repeat(22),
  header: 'AQID',
  access: EMPTY_SHA256,
  own: 'AQID',
  max_files: 10,
  max_bytes: 1_000_000_000,
  upload_token: 'A'.repeat(43),
  ticket: 'A'.repeat(43),
  passkey: { id: 'AQID', client_data: 'e30', authenticator_data: 'AQID', signature: 'AQID' },
  client_data: 'e30',
  attestation: 'oA',
};

/** Renders the OpenAPI document as one page that needs no script. */
export function docsPage({ info, paths, components }: Document) {
  // Replaces every reference by its schema.
  const resolved = <T>(value: T): T =>
    JSON.parse(JSON.stringify(value), (_key, part) =>
      part?.$ref ? resolved(components.schemas[part.$ref.replace('#/components/schemas/', '')]) : part,
    );
  const operations = Object.entries(resolved(paths)).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, about]) => ({ ...about, method: method.toUpperCase(), path })),
  );
  const groups = [...Map.groupBy(operations, ({ tags }) => tags[0])];
  const link = ({ operationId: id }: Operation) => `<li><a href="#${id}">${id}</a>`;
  const links = groups.map(([tag, parts]) => `<h2>${tag}</h2><ul>${parts.map(link).join('')}</ul>`);
  const sections = groups.map(([tag, parts]) => `<h2>${tag}</h2>${parts.map(describe).join('\n')}`);
  const style = readFileSync(new URL('docs.css', import.meta.url), 'utf8');
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>szafa API</title><style>${style}</style></head><body>
<nav aria-label="Endpoints">${links.join('')}</nav>
<main><h1>szafa API</h1><p>${escapeHtml(info.description)}</p>
<p>For programs: <a href="/openapi.json">openapi.json</a>. The examples take the address of the server from <code>$url</code> and
a token from <code>$token</code>; register and login give one. Fields are required unless they are marked as optional.</p>
${sections.join('\n')}</main></body></html>`;
  const styleHash = createHash('sha256').update(style).digest('base64');
  const policy = ["default-src 'none'", `style-src 'sha256-${styleHash}'`, ...CONFINED].join('; ');
  return { html, headers: { 'content-security-policy': policy, ...PAGE_HEADERS } };
}

function describe(operation: Operation): string {
  const { method, path, operationId: id, summary, security, parameters = [] } = operation;
  const { requestBody, responses } = operation;
  const given = parameters.map(({ name, schema = {}, required = false, description = '', in: where }) =>
    field(name, { ...schema, description: `in the ${where}${description && `: ${description}`}` }, required),
  );
  const answers = Object.entries(responses).map(
    ([status, response]) => `<li><b>${status}</b> ${contentOf(response)}`,
  );
  return `<section id="${id}"><h3><a href="#${id}"><b>${method}</b> <code>${escapeHtml(path)}</code></a></h3>
<p>${escapeHtml(summary)}.${security.length ? '' : ' No token needed.'}</p>
${given.length ? `<h4>Parameters</h4><ul>${given.join('')}</ul>` : ''}
${requestBody ? `<h4>Body</h4><div>${contentOf(requestBody)}</div>` : ''}
<h4>Answers</h4><ul>${answers.join('')}</ul>
<h4>Example</h4><pre tabindex="0">${escapeHtml(example(operation))}</pre></section>`;
}

/** Description and fields of a body. */
function contentOf({ description, content }: Content): string {
  const schema = content?.['application/json']?.schema;
  return `${escapeHtml(description ?? schema?.description ?? '')} ${schema ? shape(schema) : ''}`;
}

/** Describes a schema: briefly for errors, field by field for other objects. */
function shape(schema: Schema): string {
  const { anyOf, properties } = schema;
  if (anyOf) return anyOf.map(shape).join(' or ');
  const names = Object.keys(properties ?? {});
  if (names.length === 1 && /^(error|detail)$/.test(names[0]!)) return `<code>{${names[0]}}</code>`;
  return fields(schema);
}

function fields({ properties = {}, required = [] }: Schema): string {
  const all = Object.entries<Schema>(properties).map(([name, schema]) =>
    field(name, schema, required.includes(name)),
  );
  return all.length ? `<ul>${all.join('')}</ul>` : '';
}

function field(name: string, schema: Schema, required: boolean): string {
  const { description = '', items } = schema;
  const about = `${typeOf(schema)}${required ? '' : ', optional'}`;
  return `<li><code>${escapeHtml(name)}</code> <i>${escapeHtml(about)}</i> ${escapeHtml(description)}${fields(items ?? schema)}`;
}

/** Describes the type of a value and its limits in words. */
function typeOf(schema: Schema): string {
  const { type = 'any', anyOf, items, pattern, minimum, maximum, minItems, maxItems } = schema;
  if (schema.enum) return schema.enum.map((value: unknown) => JSON.stringify(value)).join(' or ');
  if (anyOf) return anyOf.map(typeOf).join(' or ');
  if (items) {
    const count = minItems === undefined ? '' : `${minItems} to ${maxItems} `;
    return `array of ${count}${typeOf(items)}s`;
  }
  const range = maximum === Number.MAX_SAFE_INTEGER ? ` from ${minimum}` : ` from ${minimum} to ${maximum}`;
  return `${type}${minimum === undefined ? '' : range}${pattern ? ` matching ${pattern}` : ''}`;
}

/** In a request, every list of strings is a list of file ids. */
const areIds = ({ items }: Schema) => items?.type === 'string';

/** A curl command for the operation. */
function example({ method, path, security, requestBody, responses, parameters = [] }: Operation): string {
  const conditions = parameters.map(({ name }) => name).filter((name) => /^If-/i.test(name));
  const json = requestBody?.content?.['application/json']?.schema;
  const raw = requestBody && !json;
  // The first alternative is the one in the specification.
  const { properties = {}, required = [] } = json?.anyOf?.[0] ?? json ?? {};
  const all = Object.keys(properties);
  // Optional fields are shown if the schema has an example.
  const names = required.length
    ? all.filter((name) => required.includes(name) || properties[name]?.examples)
    : all;
  const sample = (name: string) =>
    areIds(properties[name]) ? [FILE_ID] : (properties[name]?.examples?.[0] ?? SAMPLES[name]);
  const body = JSON.stringify(Object.fromEntries(names.map((name: string) => [name, sample(name)])));
  const words = [
    'curl',
    ...(security.length ? ['-H "Authorization: Bearer $token"'] : []),
    ...(path.endsWith('/file') ? ['-H "X-Init: $init"'] : []),
    ...(conditions.includes('If-None-Match') ? ['-H "If-None-Match: *"'] : []),
    ...(conditions.length === 1 ? ['-H "If-Match: $etag"'] : []),
    ...(raw
      ? ['-T volume-1']
      : method === 'HEAD'
        ? ['-I']
        : method === 'GET' || (json && method === 'POST')
          ? []
          : [`-X ${method}`]),
    ...(responses['206'] ? ['-o volume-1'] : []),
    `"$url${path.replace('{idx}', '1').replace(/\{(\w+)\}/g, '$$$1')}"`,
    ...(json ? [`-d '${body}'`] : []),
  ];
  return words.join(' ');
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
