/** The room behind the door: directories at the side, the list in the middle, transfers in the corner. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { closeDialog, dialog, uploadBatches } from '../page/actions.ts';
import { download } from '../page/downloads.ts';
import { shownFiles } from '../page/layout.ts';
import { tellFault } from '../page/notices.ts';
import { fromDrop, fromInput } from '../page/pick.ts';
import {
  chosen,
  dirNames,
  filter,
  here,
  items,
  listFault,
  listing,
  place,
  refresh,
  selected,
  visible,
} from '../page/shelf.ts';
import { explain, text } from '../text.ts';
import { Banner } from './banner.tsx';
import { Bar } from './bar.tsx';
import { IconButton, Placard, Spinner } from './controls.tsx';
import { Dialogs } from './dialogs.tsx';
import { FirstSteps } from './first-steps.tsx';
import { Icon } from './icon.tsx';
import { Files, LayoutButtons } from './layouts.tsx';
import { Places } from './places.tsx';
import { TransferPanel } from './transfer-panel.tsx';

function placeName(): string {
  const at = place.value;
  if (at === 'all') return text.places.all;
  return at === 'root' ? text.places.root : (dirNames.value.get(at) ?? '');
}

function SelectionBar() {
  const items = chosen.value;
  const ask = (kind: 'move' | 'copy' | 'remove') => () => {
    dialog.value = { kind, items };
  };
  return (
    <div class="selection" role="toolbar" aria-label={text.actions.selected(items.length)}>
      <IconButton
        icon="close"
        label={text.actions.clear}
        onClick={() => {
          selected.value = new Set();
        }}
      />
      <span class="selection-count">{text.actions.selected(items.length)}</span>
      <IconButton icon="download" label={text.actions.download} onClick={() => void download(items)} />
      <IconButton icon="move" label={text.actions.move} onClick={ask('move')} />
      <IconButton icon="copy" label={text.actions.copy} onClick={ask('copy')} />
      <IconButton icon="trash" class="danger" label={text.actions.remove} onClick={ask('remove')} />
    </div>
  );
}

function UploadButtons() {
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  useEffect(() => {
    folder.current!.webkitdirectory = true;
  }, []);
  const take = (input: HTMLInputElement) => {
    const batches = fromInput(input.files ?? []);
    input.value = '';
    void uploadBatches(batches);
  };
  return (
    <div class="upload-buttons">
      <IconButton
        icon="folderUp"
        class="boxed"
        label={text.actions.uploadFolder}
        onClick={() => folder.current?.click()}
      />
      <button
        type="button"
        id="upload"
        class="button primary"
        aria-label={text.actions.upload}
        onClick={() => files.current?.click()}
      >
        <Icon name="upload" />
        {text.actions.uploadShort}
      </button>
      <input
        ref={files}
        type="file"
        multiple
        hidden
        data-test="files"
        onChange={(event) => take(event.currentTarget)}
      />
      <input
        ref={folder}
        type="file"
        multiple
        hidden
        data-test="folder"
        onChange={(event) => take(event.currentTarget)}
      />
    </div>
  );
}

function Contents() {
  const { list } = text;
  if (listing.value === 'loading') return <Spinner label={list.loading} />;
  if (listing.value === 'failed') {
    return (
      <Placard icon="warning" title={list.failedTitle}>
        {listFault.value && <p>{explain(listFault.value)}</p>}
        <button type="button" class="button" onClick={() => void refresh()}>
          {list.retry}
        </button>
      </Placard>
    );
  }
  if (shownFiles.value.length > 0) return <Files />;
  if (filter.value.trim() !== '' && here.value.length > 0) {
    return (
      <Placard icon="search" title={list.noMatch(filter.value.trim())}>
        <p>{list.noMatchBody}</p>
      </Placard>
    );
  }
  if (items.value.length === 0 && typeof place.value !== 'number') {
    const onNewFolder = () => {
      dialog.value = { kind: 'make-dir' };
    };
    return <FirstSteps onNewFolder={onNewFolder} />;
  }
  return (
    <Placard
      icon={typeof place.value === 'number' ? 'folder' : 'wardrobe'}
      title={typeof place.value === 'number' ? list.emptyDir : list.emptyTitle}
    >
      <p>{list.emptyBody}</p>
    </Placard>
  );
}

const typing = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  target.closest('input:not([type=checkbox]), textarea, dialog, [role=menu]') !== null;

function onShortcut(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || dialog.value) return;
  if (event.key === '/') document.getElementById('filter')?.focus();
  else if (event.key === 'u') document.getElementById('upload')?.click();
  else if (event.key === 'Escape' && selected.value.size > 0) selected.value = new Set();
  else return;
  event.preventDefault();
}

export function Room() {
  const drawer = useSignal(false);
  const dragging = useSignal(0);

  useEffect(() => {
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;
    const on: { [N in 'dragenter' | 'dragleave' | 'dragover' | 'drop']: (event: DragEvent) => void } = {
      dragenter: () => {
        dragging.value++;
      },
      dragleave: () => {
        dragging.value = Math.max(0, dragging.value - 1);
      },
      dragover: () => {},
      drop: (event) => {
        dragging.value = 0;
        fromDrop(event.dataTransfer!).then(uploadBatches, tellFault);
      },
    };
    const listener = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      on[event.type as keyof typeof on](event);
    };
    const names = Object.keys(on) as (keyof typeof on)[];
    for (const name of names) document.addEventListener(name, listener);
    document.addEventListener('keydown', onShortcut);
    return () => {
      for (const name of names) document.removeEventListener(name, listener);
      document.removeEventListener('keydown', onShortcut);
      closeDialog();
    };
  }, []);

  const count = here.value.length;
  const shown = visible.value.length;
  return (
    <div class={`room ${drawer.value ? 'drawer-open' : ''}`}>
      <Bar drawer={drawer} />
      <Places
        onGo={() => {
          drawer.value = false;
        }}
      />
      {drawer.value && (
        <button
          type="button"
          class="shade"
          aria-label={text.actions.close}
          onClick={() => {
            drawer.value = false;
          }}
        />
      )}
      <main class="main">
        <Banner />
        <div class="main-head">
          <div class="main-title">
            <h1 dir="auto">{placeName()}</h1>
            {listing.value === 'ready' && (
              <p aria-live="polite">
                {shown === count ? text.list.count(count) : text.list.found(shown, count)}
              </p>
            )}
          </div>
          {chosen.value.length > 0 && <SelectionBar />}
          <LayoutButtons />
          <UploadButtons />
        </div>
        <Contents />
      </main>
      <TransferPanel />
      <Dialogs />
      {dragging.value > 0 && (
        <div class="drop">
          <Icon name="upload" size={40} />
          <strong>{text.drop.title}</strong>
          {typeof place.value === 'number' && <span>{text.drop.into(placeName())}</span>}
        </div>
      )}
    </div>
  );
}
