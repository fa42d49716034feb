/** The app after sign-in: folders on the side, the list in the middle, transfers in the corner. */

import { useSignal } from '@preact/signals';
import { displayName } from '@szafa/client';
import { useEffect, useRef } from 'preact/hooks';
import { Banner } from '../core/controls/banner.tsx';
import { Button, EmptyState, IconButton, Spinner } from '../core/controls/controls.tsx';
import { Icon } from '../core/controls/icon.tsx';
import { setTo } from '../core/signals.ts';
import { explain, text } from '../core/text/index.ts';
import { isWithin, lastOf } from '../core/tree.ts';
import { closeDialog, dialog, uploadBatches } from '../files/actions.ts';
import { Collision } from '../files/dialogs/collision.tsx';
import { dropPath, filesOver, listenForDrags } from '../files/dragging.ts';
import {
  chosenRows,
  filesOf,
  filter,
  here,
  isFile,
  items,
  listFault,
  listing,
  place,
  refresh,
  rows,
  selected,
  trashed,
  visible,
} from '../files/file-list.ts';
import { Crumbs } from '../files/list/crumbs.tsx';
import { FirstSteps } from '../files/list/first-steps.tsx';
import { isTimeline, shownFiles } from '../files/list/layout.ts';
import { Files, LayoutButtons } from '../files/list/layouts.tsx';
import { Places } from '../files/list/places.tsx';
import { askNewFolder, askShare } from '../files/list/row-menu.ts';
import { restore, trash } from '../files/operations.ts';
import { clearSelection } from '../files/selection.ts';
import { links, offersLinks } from '../sharing/links.ts';
import { downloadRows } from '../transfers/download-rows.ts';
import { fromInput } from '../transfers/pick.ts';
import { TransferPanel } from '../transfers/transfer-panel.tsx';
import { active, type Transfer } from '../transfers/transfers.ts';
import { Bar } from './bar.tsx';
import { Dialogs } from './dialogs.tsx';
import { LinkList, ReceivedList } from './lazy.tsx';

function SelectionActs() {
  const all = chosenRows.value;
  const items = all.filter(isFile);
  const ask = (kind: 'move' | 'copy') => setTo(dialog, { kind, rows: all });
  if (place.value.at === 'trash') {
    const remove = setTo(dialog, { kind: 'remove', items, all: false });
    return (
      <>
        <IconButton icon="retry" label={text.restore.do} onClick={() => void restore(items)} />
        <IconButton icon="trash" class="danger" label={text.remove.do} onClick={remove} />
      </>
    );
  }
  return (
    <>
      <IconButton icon="download" label={text.actions.download} onClick={() => void downloadRows(all)} />
      {offersLinks.value && (
        <IconButton
          icon="link"
          label={text.share.do}
          disabled={filesOf(all).length === 0}
          onClick={() => askShare(all)}
        />
      )}
      <IconButton icon="move" label={text.actions.move} onClick={ask('move')} />
      <IconButton icon="copy" label={text.actions.copy} onClick={ask('copy')} />
      <IconButton icon="trash" class="danger" label={text.actions.remove} onClick={() => void trash(all)} />
    </>
  );
}

function SelectionBar() {
  const said = text.actions.selected(chosenRows.value.length);
  return (
    <div class="selection" role="toolbar" aria-label={said}>
      <IconButton icon="close" label={text.actions.clear} onClick={clearSelection} />
      <span class="selection-count">{said}</span>
      <SelectionActs />
    </div>
  );
}

/** A button that deletes everything in the trash, after confirmation. */
function EmptyTrash() {
  const items = trashed.value ?? [];
  if (items.length === 0) return null;
  return (
    <Button
      class="danger-line"
      label={text.trash.emptyNow}
      onClick={setTo(dialog, { kind: 'remove', items, all: true })}
    />
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
      <IconButton icon="folderAdd" class="boxed" label={text.places.make} onClick={() => askNewFolder()} />
      <IconButton
        icon="folderUp"
        id="upload-folder"
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
  if (place.value.at === 'shared') return <LinkList />;
  if (place.value.at === 'received') return <ReceivedList />;
  if (listing.value === 'loading') return <Spinner label={list.loading} />;
  if (listing.value === 'failed') {
    return (
      <EmptyState icon="warning" title={list.failedTitle}>
        {listFault.value && <p>{explain(listFault.value)}</p>}
        <Button label={list.retry} onClick={() => void refresh()} />
      </EmptyState>
    );
  }
  const isShown = place.value.at === 'folder' && isTimeline.value ? shownFiles.value : rows.value;
  if (isShown.length > 0) return <Files />;
  if (place.value.at === 'trash') {
    if (!trashed.value) return <Spinner label={list.loading} />;
    return (
      <EmptyState icon="trash" title={text.trash.empty}>
        <p>{text.trash.emptyBody}</p>
      </EmptyState>
    );
  }
  if (filter.value.trim() !== '') {
    return (
      <EmptyState icon="search" title={list.noMatch(filter.value.trim())}>
        <p>{list.noMatchBody}</p>
      </EmptyState>
    );
  }
  const isTop = here.value.path === '';
  const isComing = ({ note }: Transfer) =>
    note !== undefined && (isTop || isWithin(note.path, here.value.path));
  if (active.value.some(isComing)) return <Spinner label={list.uploading} />;
  if (items.value.length === 0 && isTop) {
    return <FirstSteps onNewFolder={() => askNewFolder()} />;
  }
  return (
    <EmptyState icon={isTop ? 'wardrobe' : 'folder'} title={isTop ? list.emptyTitle : list.emptyDir}>
      <p>{list.emptyBody}</p>
    </EmptyState>
  );
}

const typing = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  target.closest('input:not([type=checkbox]), textarea, dialog, [role=menu]') !== null;

function onShortcut(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || dialog.value) return;
  if (event.key === '/') document.getElementById('filter')?.focus();
  else if (event.key === 'u') document.getElementById('upload')?.click();
  else if (event.key === 'Escape' && selected.value.size > 0) clearSelection();
  else return;
  event.preventDefault();
}

function counted(): string {
  if (place.value.at === 'received') return '';
  if (place.value.at === 'shared') return text.shared.count(links.shown.value?.length ?? 0);
  const isPictures = place.value.at === 'folder' && isTimeline.value;
  const files = (isPictures ? shownFiles : visible).value.length;
  const folders = isPictures ? 0 : rows.value.length - files;
  const counts = text.tree.counts(folders, files);
  return filter.value.trim() === '' ? counts : text.list.found(counts);
}

export function MainView() {
  const drawer = useSignal(false);

  useEffect(() => {
    const ignoreDrags = listenForDrags();
    const onKey = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && drawer.value) drawer.value = false;
      else onShortcut(event);
    };
    document.addEventListener('keydown', onKey);
    return () => {
      ignoreDrags();
      document.removeEventListener('keydown', onKey);
      closeDialog();
    };
  }, []);

  const { at } = place.value;
  return (
    <div class={`main-view ${drawer.value ? 'drawer-open' : ''}`}>
      <Bar drawer={drawer} />
      <Places onGo={setTo(drawer, false)} />
      {drawer.value && (
        <button type="button" class="shade" aria-label={text.actions.close} onClick={setTo(drawer, false)} />
      )}
      <main class="main">
        <Banner />
        <div class="main-head">
          <div class="main-title">
            <Crumbs />
            {listing.value === 'ready' && <p aria-live="polite">{counted()}</p>}
            {at === 'trash' && <p>{text.trash.counts}</p>}
          </div>
          {chosenRows.value.length > 0 && <SelectionBar />}
          {at === 'folder' && <LayoutButtons />}
          {at === 'trash' && <EmptyTrash />}
          {at === 'folder' && <UploadButtons />}
        </div>
        <Contents />
      </main>
      <TransferPanel />
      <Dialogs />
      <Collision />
      {filesOver.value && (
        <div class="drop">
          <Icon name="upload" />
          <strong>{text.drop.title}</strong>
          {dropPath.value && <span>{text.drop.into(displayName(lastOf(dropPath.value)))}</span>}
        </div>
      )}
    </div>
  );
}
