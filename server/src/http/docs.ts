import { createHash } from 'node:crypto';
import type { SwaggerOptions } from '@fastify/swagger';
import { CONFINED, PAGE_HEADERS } from './page-headers.ts';

export const openapiInfo: SwaggerOptions = {
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'szafa',
      version: '1',
      description:
        'A zero-knowledge store for files that the client has encrypted and split into numbered volumes. ' +
        'Errors are {error}; those of the token check (401) and the file ownership check (403) are {detail}.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    // Wherever the document was read from.
    servers: [{ url: '/' }],
    components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
  },
  refResolver: { buildLocalReference: (json, _base, _fragment, at) => String(json['$id'] ?? `Schema${at}`) },
};

interface Operation {
  summary?: string;
  tags?: string[];
  security?: object[];
  parameters?: { name: string; in: string; description?: string }[];
  requestBody?: { content?: Record<string, { schema?: object }> };
  responses?: Record<string, { description?: string; content?: Record<string, { schema?: object }> }>;
}

interface Document {
  paths?: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, object> };
}

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
code,pre{font:14px/1.4 ui-monospace,monospace}pre{overflow:auto;padding:.5rem;border:1px solid #8886;border-radius:4px}
table{border-collapse:collapse}td{padding:.1rem 1rem .1rem 0;vertical-align:top}h3 code{font-size:1.05em}`;

/** The OpenAPI document as one page without scripts. */
export function docsPage(document: object): { html: string; headers: Record<string, string> } {
  const { paths = {}, components } = document as Document;
  const sections = new Map<string, string[]>();
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      if (method === 'head') continue;
      const tag = operation.tags?.[0] ?? '';
      sections.set(tag, [...(sections.get(tag) ?? []), describe(method, path, operation)]);
    }
  }
  const schemas = Object.entries(components?.schemas ?? {}).map(
    ([name, schema]) => `<h3 id="${escapeHtml(name)}"><code>${escapeHtml(name)}</code></h3>${json(schema)}`,
  );
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>szafa: the interface</title><style>${STYLE}</style><h1>szafa: the interface</h1>
<p>The same as a document for machines: <a href="/openapi.json">openapi.json</a>.</p>
${[...sections].map(([tag, parts]) => `<h2>${escapeHtml(tag)}</h2>${parts.join('')}`).join('')}
<h2>Schemas</h2>${schemas.join('')}</html>`;
  const styleHash = createHash('sha256').update(STYLE).digest('base64');
  const policy = ["default-src 'none'", `style-src 'sha256-${styleHash}'`, ...CONFINED].join('; ');
  return { html, headers: { 'content-security-policy': policy, ...PAGE_HEADERS } };
}

function describe(method: string, path: string, operation: Operation): string {
  const body = Object.values(operation.requestBody?.content ?? {})[0]?.schema;
  const responses = Object.entries(operation.responses ?? {}).map(([status, response]) => {
    const schema = Object.values(response.content ?? {})[0]?.schema;
    const shape = schema
      ? `<code>${escapeHtml(JSON.stringify(schema))}</code>`
      : escapeHtml(response.description ?? '');
    return `<tr><td>${escapeHtml(status)}<td>${shape}`;
  });
  const query = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query');
  return `<h3><code>${method.toUpperCase()} ${escapeHtml(path)}</code></h3><p>${escapeHtml(operation.summary ?? '')}${
    operation.security?.length ? '' : ' <em>(no token needed)</em>'
  }</p>${query.length ? `<p>Query: ${query.map((one) => `<code>${escapeHtml(one.name)}</code> ${escapeHtml(one.description ?? '')}`).join('; ')}</p>` : ''}${
    body ? json(body) : ''
  }<table>${responses.join('')}</table>`;
}

const json = (value: object) => `<pre>${escapeHtml(JSON.stringify(value, null, 2))}</pre>`;

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
