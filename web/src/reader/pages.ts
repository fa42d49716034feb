import hljs from 'highlight.js/lib/common';
import { Marked, type Tokens } from 'marked';
import { LOOKS } from './looks.ts';

const ENTITIES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escaped = (text: string) => text.replace(/[&<>"']/g, (char) => ENTITIES[char]!);

/** Only pictures embedded in the text are shown: fetching others would tell the sender that the text was read. */
const INLINE_PICTURE = /^data:image\/(png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/]+={0,2}$/;

function coloured(text: string, language: string | undefined): string {
  const known = language && hljs.getLanguage(language);
  return known ? hljs.highlight(text, { language, ignoreIllegals: true }).value : escaped(text);
}

const page = (kind: string, body: string) =>
  `<!doctype html><html><head><meta charset="utf-8"><style>${LOOKS}</style></head><body class="${kind}" dir="auto">${body}</body></html>`;

export function codePage(text: string, language: string): string {
  return page('code', `<pre><code>${coloured(text, language)}</code></pre>`);
}

/**
 * Escapes HTML in the text, because it could cause requests that no policy covers, such as DNS lookups. Links only show
 * their target: the sandbox could not open it, and a visit would tell the sender that the text was read.
 */
const markdown = new Marked({
  gfm: true,
  renderer: {
    html: ({ text }: Tokens.HTML | Tokens.Tag) => escaped(text),
    link({ href, tokens }: Tokens.Link) {
      const inner = this.parser.parseInline(tokens);
      const address = escaped(href);
      if (inner === address || href.startsWith('#')) return `<span class="link">${inner}</span>`;
      return `<span class="link">${inner}</span> <span class="address">(${address})</span>`;
    },
    image({ href, text }: Tokens.Image) {
      if (INLINE_PICTURE.test(href)) return `<img src="${href}" alt="${escaped(text)}">`;
      return `<span class="address">[${escaped(text || href)}]</span>`;
    },
    code({ text, lang }: Tokens.Code) {
      return `<pre><code>${coloured(text, lang?.match(/^\S+/)?.[0])}</code></pre>`;
    },
  },
});

export function markdownPage(text: string): string {
  return page('markdown', markdown.parse(text, { async: false }));
}
