import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { FileInfo, Item } from '../bridge.ts';
import { closeDialog, dialog } from '../page/actions.ts';
import { call, faultOf } from '../page/core.ts';
import { download } from '../page/downloads.ts';
import { bytes, fullDate } from '../page/format.ts';
import { localReady, offerPreview } from '../page/local.ts';
import { visible } from '../page/shelf.ts';
import { explain, text } from '../text.ts';
import { IconButton, Modal, Placard, Spinner } from './controls.tsx';
import { Icon, iconOf } from './icon.tsx';

const TEXT_BYTES = 512 * 1024;
const WORD_CHARS = 2_000;

/** One word over many lines: looking for places to break it would hold the page up for seconds. */
function isSolid(content: string): boolean {
  return content.split(/\s+/).some((word) => word.length > WORD_CHARS);
}

interface Opened {
  info: FileInfo;
  url?: string;
  content?: string;
}

function Shown({ item, opened, onFail }: { item: Item; opened: Opened; onFail(): void }) {
  const { info, url, content } = opened;
  if (content !== undefined) {
    return (
      <div class="preview-text">
        {info.size > TEXT_BYTES && <p class="preview-note">{text.preview.cut}</p>}
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long text is scrolled by the keyboard */}
        <pre dir="auto" tabIndex={0} class={isSolid(content) ? 'solid' : ''}>
          {content}
        </pre>
      </div>
    );
  }
  if (url && info.type.startsWith('image/')) return <img src={url} alt={item.name} onError={onFail} />;
  if (url && info.type.startsWith('video/')) {
    return (
      // biome-ignore lint/a11y/useMediaCaption: captions, if there are any, are inside the person's own file
      <video src={url} controls autoPlay={false} preload="metadata" aria-label={item.name} onError={onFail} />
    );
  }
  if (url && info.type.startsWith('audio/')) {
    return (
      // biome-ignore lint/a11y/useMediaCaption: captions, if there are any, are inside the person's own file
      <audio src={url} controls preload="metadata" aria-label={item.name} onError={onFail} />
    );
  }
  if (url && info.type === 'application/pdf') return <iframe src={url} title={item.name} />;
  return <Placard icon={iconOf(item.name)} title={info.type ? text.preview.failed : text.preview.none} />;
}

export function Preview({ item }: { item: Item }) {
  const opened = useSignal<Opened | null>(null);
  const trouble = useSignal('');

  useEffect(() => {
    let gone = false;
    const { url, close } = offerPreview(item.fileId);
    opened.value = null;
    trouble.value = '';
    const open = async (): Promise<Opened> => {
      const info = await call('info', item.fileId);
      if (info.type === 'text/plain') {
        return { info, content: await call('readText', item.fileId, TEXT_BYTES) };
      }
      return info.type !== '' && (await localReady()) ? { info, url } : { info };
    };
    open().then(
      (found) => {
        if (!gone) opened.value = found;
      },
      (error: unknown) => {
        if (!gone) trouble.value = explain(faultOf(error));
      },
    );
    return () => {
      gone = true;
      close();
    };
  }, [item.fileId]);

  const list = visible.value;
  const at = list.findIndex(({ fileId }) => fileId === item.fileId);
  const show = (step: number) => {
    const next = list[at + step];
    if (next) dialog.value = { kind: 'preview', item: next };
  };
  const info = opened.value?.info;
  return (
    <Modal title={item.name} class="preview" onClose={closeDialog}>
      <div class="preview-stage">
        {trouble.value ? (
          <Placard icon="warning" title={trouble.value} />
        ) : opened.value ? (
          <Shown
            item={item}
            opened={opened.value}
            onFail={() => {
              trouble.value = text.preview.failed;
            }}
          />
        ) : (
          <Spinner label={text.preview.opening} />
        )}
      </div>
      <footer class="preview-foot">
        <IconButton icon="left" label={text.preview.previous} disabled={at <= 0} onClick={() => show(-1)} />
        <span class="preview-info">
          {info ? `${bytes(info.size)} · ${fullDate(info.mtime ?? item.createdAt)}` : bytes(item.size)}
          {info?.ahead && ` · ${text.preview.ahead}`}
        </span>
        <button type="button" class="button" onClick={() => void download([item])}>
          <Icon name="download" />
          {text.actions.download}
        </button>
        <IconButton
          icon="right"
          label={text.preview.next}
          disabled={at >= list.length - 1}
          onClick={() => show(1)}
        />
      </footer>
    </Modal>
  );
}
