/** Styles of a rendered text. Its iframe does not get the page's own styles. */
export const LOOKS = `
:root {
  color-scheme: light dark;
  --ink: light-dark(#1d2421, #e9ecea);
  --soft: light-dark(#57605c, #a3aca8);
  --line: light-dark(#d9d6cf, #2e3338);
  --code: light-dark(#e4e1da, #22262a);
  --word: light-dark(#8a1c5c, #f29ac9);
  --text: light-dark(#1f5e2e, #94d8a2);
  --name: light-dark(#0b4f8f, #8fc3f7);
  --value: light-dark(#8a4200, #f0b678);
}
body {
  margin: 0;
  padding: 18px 20px;
  background: light-dark(#eceae5, #191c1f);
  color: var(--ink);
  font: 15px / 1.6 system-ui, sans-serif;
  overflow-wrap: anywhere;
}
pre, code { font: 13.5px / 1.55 ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
pre { margin: 0; white-space: pre-wrap; tab-size: 4; }
.markdown { max-width: 46em; margin: 0 auto; }
.markdown > :first-child { margin-top: 0; }
.markdown pre { padding: 12px 14px; border-radius: 8px; background: var(--code); }
.markdown :not(pre) > code { padding: 1px 5px; border-radius: 5px; background: var(--code); }
.markdown h1, .markdown h2 { padding-bottom: 0.25em; border-bottom: 1px solid var(--line); }
.markdown blockquote { margin-inline: 0; padding-inline: 1em; border-inline-start: 3px solid var(--line); color: var(--soft); }
.markdown table { border-collapse: collapse; }
.markdown th, .markdown td { padding: 4px 10px; border: 1px solid var(--line); text-align: start; }
.markdown img { max-width: 100%; }
.link { text-decoration: underline; }
.address { color: var(--soft); }
.hljs-comment, .hljs-quote, .hljs-meta, .hljs-deletion { color: var(--soft); }
.hljs-keyword, .hljs-selector-tag, .hljs-literal, .hljs-section, .hljs-doctag { color: var(--word); }
.hljs-string, .hljs-regexp, .hljs-addition, .hljs-template-tag { color: var(--text); }
.hljs-title, .hljs-name, .hljs-attr, .hljs-attribute, .hljs-selector-class, .hljs-selector-id { color: var(--name); }
.hljs-number, .hljs-built_in, .hljs-type, .hljs-variable, .hljs-symbol, .hljs-bullet { color: var(--value); }
.hljs-emphasis { font-style: italic; }
.hljs-strong { font-weight: 600; }
`;
