/** Types that may be previewed. Others are only downloaded: HTML could run scripts with the rights of our origin. */
const BY_EXTENSION: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  svg: 'image/svg+xml',
  bmp: 'image/bmp',
  ico: 'image/x-icon',
  mp3: 'audio/mpeg',
  m4a: 'audio/mp4',
  aac: 'audio/aac',
  ogg: 'audio/ogg',
  oga: 'audio/ogg',
  opus: 'audio/ogg',
  flac: 'audio/flac',
  wav: 'audio/wav',
  mp4: 'video/mp4',
  m4v: 'video/mp4',
  webm: 'video/webm',
  mov: 'video/quicktime',
  mkv: 'video/x-matroska',
  ogv: 'video/ogg',
  pdf: 'application/pdf',
};

const TEXT =
  /\.(txt|md|markdown|csv|tsv|log|json|jsonl|xml|ya?ml|toml|ini|conf|html?|s?css|less|[cm]?[jt]sx?|pyw?|rs|go|cc?|hh?|[ch]pp|cs|java|kts?|rb|(ba|z)?sh|sql|php|p[lm]|lua|r|swift|vb|graphql|tex|srt|vtt|diff|patch)$/i;
const SHOWN = new Set(Object.values(BY_EXTENSION));

/** Returns the media type for the preview: `text/plain` for all kinds of text, '' if there is no preview. */
export function shownType(name: string, declared: string | undefined): string {
  const extension = /\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';
  const type = declared?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (SHOWN.has(type)) return type;
  if (type.startsWith('text/') || type === 'application/json') return 'text/plain';
  return BY_EXTENSION[extension] ?? (TEXT.test(name) ? 'text/plain' : '');
}
