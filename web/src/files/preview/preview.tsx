import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { Item } from '../../core/bridge/calls.ts';
import { faultOf } from '../../core/call.ts';
import { Button, EmptyState, IconButton, Modal, Spinner } from '../../core/controls/controls.tsx';
import { iconOf } from '../../core/controls/icon.tsx';
import { bytes, fullDate } from '../../core/format.ts';
import { setTo } from '../../core/signals.ts';
import { explain, text } from '../../core/text/index.ts';
import { download } from '../../transfers/downloads.ts';
import { openPreview, type PreviewContent, TEXT_BYTES } from './open-preview.ts';
import { Picture } from './preview-picture.tsx';
import { Frame, Text } from './preview-text.tsx';
import { Zoom } from './zoom.ts';

/** Minimum length of a swipe to the next file, and the step of an arrow key in a zoomed picture. */
const SWIPE_PX = 60;
const PAN_PX = 80;

interface PreviewBodyProps {
  item: Item;
  opened: PreviewContent;
  zoom: Zoom;
  /** Show the source of a text instead of the rendered page. */
  asSource: boolean;
  onFail(): void;
}

function PreviewBody({ item, opened, zoom, asSource, onFail }: PreviewBodyProps) {
  const { info, url, content, page } = opened;
  const { name } = item;
  if (info.size === 0) return <EmptyState icon={iconOf(name)} title={text.preview.empty} />;
  if (content !== undefined) {
    const shown = asSource ? undefined : page;
    return <Text name={name} content={content} isCut={info.size > TEXT_BYTES} page={shown} />;
  }
  if (url && info.type.startsWith('image/'))
    return <Picture url={url} name={name} zoom={zoom} onFail={onFail} />;
  if (url && info.type.startsWith('video/')) {
    return (
      // biome-ignore lint/a11y/useMediaCaption: captions, if any, are in the user's own file
      <video src={url} controls autoPlay={false} preload="metadata" aria-label={name} onError={onFail} />
    );
  }
  if (url && info.type.startsWith('audio/')) {
    return (
      // biome-ignore lint/a11y/useMediaCaption: captions, if any, are in the user's own file
      <audio src={url} controls preload="metadata" aria-label={name} onError={onFail} />
    );
  }
  if (url && info.type === 'application/pdf') return <Frame key={url} src={url} title={name} />;
  return <EmptyState icon={iconOf(name)} title={info.type ? text.preview.failed : text.preview.none} />;
}

/** Returns the size, when the file was added, and when it was last modified. */
function about(item: Item, opened: PreviewContent | null): string {
  const { info } = opened ?? {};
  const parts = [bytes(info?.size ?? item.size)];
  if (item.createdAt > 0) parts.push(text.preview.added(fullDate(item.createdAt)));
  if (info?.mtime !== undefined) parts.push(text.preview.modified(fullDate(info.mtime)));
  if (info?.ahead) parts.push(text.preview.ahead);
  return parts.join(' · ');
}

function ZoomButtons({ zoom }: { zoom: Zoom }) {
  return (
    <span class="preview-zoom">
      <IconButton icon="minus" label={text.preview.smaller} onClick={() => zoom.out()} />
      <button type="button" class="zoom-share" title={text.preview.fit} onClick={() => zoom.reset()}>
        {zoom.percent.value} %
      </button>
      <IconButton icon="plus" label={text.preview.larger} onClick={() => zoom.in()} />
    </span>
  );
}

interface PreviewProps {
  item: Item;
  /** The files that the preview steps through, in order. */
  among: readonly Item[];
  /** Returns the current file, which can be newer than `item`: keys may come faster than renders. */
  now(): Item | undefined;
  onShow(item: Item): void;
  onClose(): void;
}

export function Preview({ item, among, now: current, onShow, onClose }: PreviewProps) {
  const opened = useSignal<PreviewContent | null>(null);
  const trouble = useSignal('');
  const asSource = useSignal(false);
  const zoom = useMemo(() => new Zoom(), [item.fileId]);
  const touched = useRef<{ x: number; y: number } | undefined>(undefined);
  const neighbour = (of: Item | undefined, step: number) => {
    const at = among.findIndex(({ fileId }) => fileId === of?.fileId);
    return at < 0 ? undefined : among[at + step];
  };
  const show = (step: number) => {
    const next = neighbour(current(), step);
    if (next) onShow(next);
  };

  useEffect(() => {
    const gone = new AbortController();
    opened.value = null;
    trouble.value = '';
    openPreview(item, gone.signal).then(
      (found) => {
        if (!gone.signal.aborted) opened.value = found;
      },
      (error: unknown) => {
        if (!gone.signal.aborted) trouble.value = explain(faultOf(error));
      },
    );
    return () => gone.abort();
  }, [item.fileId]);

  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      // The arrow keys have their own meaning in players, fields and menus.
      if ((event.target as HTMLElement).closest('video, audio, input, [role=menu]')) return;
      const pans = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
      const pan = pans[event.key as keyof typeof pans];
      if (pan && zoom.isZoomed.value) zoom.pan(pan[0]! * PAN_PX, pan[1]! * PAN_PX);
      else if (event.key === 'ArrowLeft') show(-1);
      else if (event.key === 'ArrowRight') show(1);
      else if (event.key === '+' || event.key === '=') zoom.in();
      else if (event.key === '-') zoom.out();
      else if (event.key === '0') zoom.reset();
      else return;
      event.preventDefault();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [zoom, among]);

  const onTouchStart = ({ touches, target }: TouchEvent) => {
    const [one] = touches;
    const isOwn = (target as HTMLElement).closest('video, audio') !== null;
    const counts = one && touches.length === 1 && !zoom.isZoomed.value && !isOwn;
    touched.current = counts ? { x: one.clientX, y: one.clientY } : undefined;
  };
  const onTouchEnd = ({ changedTouches }: TouchEvent) => {
    const [from, to] = [touched.current, changedTouches[0]];
    touched.current = undefined;
    if (!from || !to || getSelection()?.isCollapsed === false) return;
    const [dx, dy] = [to.clientX - from.x, to.clientY - from.y];
    if (Math.abs(dx) > SWIPE_PX && Math.abs(dx) > 2 * Math.abs(dy)) show(dx < 0 ? 1 : -1);
  };

  // Content of the previous file must not appear under the name of the current one.
  const now = opened.value?.fileId === item.fileId ? opened.value : null;
  const isPicture = now?.url !== undefined && now.info.type.startsWith('image/') && !trouble.value;
  return (
    <Modal title={item.name} class="preview" onClose={onClose}>
      <div class="preview-stage" onTouchStart={onTouchStart} onTouchEnd={onTouchEnd}>
        {trouble.value ? (
          <EmptyState icon="warning" title={trouble.value} />
        ) : now ? (
          <PreviewBody
            item={item}
            opened={now}
            zoom={zoom}
            asSource={asSource.value}
            onFail={() => {
              // The image of the previous file may fail when its local address ends.
              if (opened.value === now) trouble.value = text.preview.failed;
            }}
          />
        ) : (
          <Spinner label={text.preview.opening} />
        )}
      </div>
      <footer class="preview-foot">
        <IconButton
          icon="left"
          label={text.preview.previous}
          disabled={!neighbour(item, -1)}
          onClick={() => show(-1)}
        />
        <span class="preview-info">{about(item, now)}</span>
        {isPicture && <ZoomButtons zoom={zoom} />}
        {now?.page && (
          <Button
            label={text.preview.source}
            pressed={asSource.value}
            onClick={setTo(asSource, !asSource.value)}
          />
        )}
        <Button icon="download" label={text.actions.download} onClick={() => void download(item)} />
        <IconButton
          icon="right"
          label={text.preview.next}
          disabled={!neighbour(item, 1)}
          onClick={() => show(1)}
        />
      </footer>
    </Modal>
  );
}
