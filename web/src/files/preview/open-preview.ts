/** Opens a preview: reads its content, or offers it at a local address while the preview is open. */
import type { FileInfo, Item } from '../../core/bridge/calls.ts';
import { call } from '../../core/call.ts';
import { localReady, offerDocument, offerPreview } from '../../transfers/local.ts';
import { languageOf, readable } from './reader.ts';

export const TEXT_BYTES = 512 * 1024;

export interface PreviewContent {
  fileId: string;
  info: FileInfo;
  /** Local address of the file itself. */
  url?: string;
  content?: string;
  /** Local address of the text rendered as HTML. */
  page?: string;
}

/** Reads as much of a file as its preview needs. Its local addresses end when `signal` aborts. */
export async function openPreview(item: Item, signal: AbortSignal): Promise<PreviewContent> {
  const { fileId, name } = item;
  const info = await call('info', fileId);
  if (info.size === 0 || info.type === '') return { fileId, info };
  const until = ({ url, close }: { url: string; close(): void }) => {
    signal.addEventListener('abort', close, { once: true });
    return url;
  };
  if (info.type !== 'text/plain') {
    const url = (await localReady()) && until(offerPreview(fileId, name));
    return { fileId, info, ...(url && { url }) };
  }
  const content = await call('readText', fileId, TEXT_BYTES);
  const language = languageOf(name);
  const html = language && (await localReady()) && (await readable({ text: content, language }, signal));
  return { fileId, info, content, ...(html && !signal.aborted && { page: until(offerDocument(html)) }) };
}
