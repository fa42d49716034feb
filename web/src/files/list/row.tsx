/** A row of the list: a folder or a file. */
import { displayName } from '@szafa/client';
import type { Item } from '../../core/bridge/calls.ts';
import { below, IconButton, type MenuPlace, PlainName } from '../../core/controls/controls.tsx';
import { Icon, iconOf } from '../../core/controls/icon.tsx';
import { bytes, date, fullDate } from '../../core/format.ts';
import { text } from '../../core/text/index.ts';
import { parentOf } from '../../core/tree.ts';
import { dropPath, startDrag } from '../dragging.ts';
import { filter, isFolder, keyOf, type Row as Line, place, selected, timeOf } from '../file-list.ts';
import { select, selectTo, toggle } from '../selection.ts';
import { openRow } from './row-menu.ts';

/** Names the folder of a file if the list shows more than one folder. */
function ParentFolder({ path }: { path: string }) {
  if (filter.value.trim() === '' && place.value.at === 'folder') return null;
  const folder = parentOf(path);
  return (
    <span class="in-dir">
      <Icon name="folder" size={14} />
      <bdi>{folder === '' ? text.places.all : displayName(folder)}</bdi>
    </span>
  );
}

function Badges({ item }: { item: Item }) {
  const { list, versions } = text;
  return (
    <>
      {item.versions > 1 && <span class="badge">{versions.short(item.versions)}</span>}
      {item.problem ? (
        <span class="badge bad" title={list.problemHint}>
          {list.problem}
        </span>
      ) : (
        !item.verified && <PlainName hint={list.unverifiedHint} />
      )}
    </>
  );
}

/** Returns the exact time and, in the trash, when the file will be deleted. */
function timeTitle(row: Line): string {
  const when = fullDate(timeOf(row));
  if (isFolder(row) || row.expiresAt === undefined) return when;
  return `${when}. ${text.trash.leaves(fullDate(row.expiresAt))}`;
}

interface RowProps {
  row: Line;
  index: number;
  top: number;
  focused: boolean;
  onFocus(): void;
  onMenu(row: Line, at: MenuPlace): void;
}

export function Row({ row, index, top, focused, onFocus, onMenu }: RowProps) {
  const isChosen = selected.value.has(keyOf(row));
  const target = isFolder(row) ? row.path : undefined;
  const hasFolderIcon = isFolder(row) || row.isFolder;
  const isTarget = target !== undefined && dropPath.value === target;
  const held = (event: MouseEvent) => event.shiftKey || event.ctrlKey || event.metaKey;
  const when = timeOf(row);
  return (
    <div
      role="row"
      class={`row ${isTarget ? 'drop-here' : ''}`}
      aria-rowindex={index + 2}
      aria-selected={isChosen}
      data-index={index}
      data-drop={target}
      tabIndex={focused ? 0 : -1}
      style={{ transform: `translateY(${top}px)` }}
      draggable={place.value.at === 'folder'}
      onDragStart={(event) => startDrag(event, row)}
      onFocus={onFocus}
      onClick={(event) => {
        onFocus();
        // A tap opens, because touch has no double click.
        if ((event as unknown as PointerEvent).pointerType === 'touch') openRow(row);
        else select(row, event);
      }}
      onDblClick={() => openRow(row)}
      onContextMenu={(event) => {
        event.preventDefault();
        onFocus();
        onMenu(row, { left: event.clientX, top: event.clientY });
      }}
    >
      <div role="gridcell" class="cell check">
        <label class="hit" onClick={(event) => event.stopPropagation()}>
          <input
            type="checkbox"
            tabIndex={-1}
            checked={isChosen}
            aria-label={text.list.select(row.name)}
            onClick={(event) => {
              if (event.shiftKey) selectTo(row);
              else toggle(row);
            }}
          />
        </label>
      </div>
      <div role="gridcell" class="cell name">
        <span class={`file-icon ${hasFolderIcon ? 'of-folder' : ''}`}>
          <Icon name={hasFolderIcon ? 'folder' : iconOf(row.name)} />
        </span>
        <button
          type="button"
          class="file-name"
          tabIndex={-1}
          title={displayName(row.path)}
          onClick={(event) => {
            if (held(event)) return; // the row handles the selection
            event.stopPropagation();
            openRow(row);
          }}
        >
          <bdi>{row.name}</bdi>
        </button>
        {isFolder(row) ? (
          !row.verified && <PlainName hint={text.places.unverifiedHint} />
        ) : (
          <Badges item={row} />
        )}
        <ParentFolder path={row.path} />
      </div>
      <div role="gridcell" class="cell size">
        {isFolder(row) && row.count === 0 ? '–' : bytes(row.size)}
      </div>
      <div role="gridcell" class="cell date" title={timeTitle(row)}>
        {when > 0 ? date(when) : ''}
      </div>
      <div role="gridcell" class="cell acts">
        <IconButton
          icon="more"
          label={text.list.more(row.name)}
          onClick={(event) => {
            event.stopPropagation();
            onMenu(row, below(event.currentTarget as HTMLElement));
          }}
        />
      </div>
    </div>
  );
}
