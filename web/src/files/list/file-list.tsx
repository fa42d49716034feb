/** The list of files and folders. Only visible rows are rendered, so that ten thousand cost as much as twenty. */

import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { below, Menu, type MenuPlace } from '../../core/controls/controls.tsx';
import { Icon } from '../../core/controls/icon.tsx';
import { setTo } from '../../core/signals.ts';
import { text } from '../../core/text/index.ts';
import { parentOf } from '../../core/tree.ts';
import {
  filter,
  goTo,
  here,
  keyOf,
  type Row as Line,
  place,
  rows,
  type SortKey,
  selected,
  sort,
  sortBy,
} from '../file-list.ts';
import { clearSelection, meant, selectAll, selectOnly, selectTo, toggle } from '../selection.ts';
import { Row } from './row.tsx';
import { askRename, menuFor, menuForPlace, openRow, removeRows } from './row-menu.ts';
import { useSight } from './virtual-scroll.ts';

const SPARE_ROWS = 6;

function Header({ name, label }: { name: SortKey; label: string }) {
  const { key, down } = sort.value;
  const direction = key === name ? (down ? 'descending' : 'ascending') : undefined;
  return (
    <div role="columnheader" class={`cell ${name}`} aria-sort={direction}>
      <button type="button" class="sort" onClick={() => sortBy(name)}>
        {label}
        {direction && <Icon name={down ? 'down' : 'up'} size={14} />}
      </button>
    </div>
  );
}

interface OpenMenu {
  at: MenuPlace;
  /** Empty for the menu of the place itself. */
  rows: Line[];
}

const look = (scroller: HTMLElement) => ({
  top: scroller.scrollTop,
  height: scroller.clientHeight,
  row: Number.parseInt(getComputedStyle(scroller).getPropertyValue('--row'), 10) || 52,
});

export function FileList() {
  const { scroller, view, focusOn } = useSight(look, { top: 0, height: 800, row: 52 });
  const focus = useSignal(0);
  /** A row has the focus, or had it until the row was removed. */
  const held = useRef(false);
  const menu = useSignal<OpenMenu | null>(null);
  const list = rows.value;

  const { top, height, row } = view.value;
  const isLost = () => held.current && document.activeElement === document.body;

  // After a change of place, filter or sort order, scroll and focus start at the top.
  useLayoutEffect(() => {
    focus.value = 0;
    scroller.current!.scrollTop = 0;
    if (isLost()) focusOn(0, 0, row);
  }, [place.value, filter.value, sort.value]);

  // If the focused row was deleted, here or on another device, focus the row that took its place.
  useLayoutEffect(() => {
    if (isLost()) {
      scroller.current!.querySelector<HTMLElement>('[tabindex="0"]')?.focus({ preventScroll: true });
    }
  }, [list]);

  const first = Math.max(0, Math.floor(top / row) - SPARE_ROWS);
  const last = Math.min(list.length, Math.ceil((top + height) / row) + SPARE_ROWS);
  const at = Math.min(focus.value, Math.max(0, list.length - 1));

  const moveTo = (index: number, from: Line | undefined, extend: boolean) => {
    const next = Math.max(0, Math.min(list.length - 1, index));
    const to = list[next];
    if (extend && from && to) {
      if (selected.value.size === 0) selectOnly(from);
      selectTo(to);
    }
    focus.value = next;
    focusOn(next, next * row, row);
  };

  /** Clears the selection if the row is outside it, so that the menu acts on exactly the rows that look selected. */
  const openMenu = (of: Line, place: MenuPlace) => {
    if (!selected.value.has(keyOf(of))) clearSelection();
    menu.value = { at: place, rows: meant(of) };
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const element = event.target as HTMLElement;
    // A row keeps the focus when rows are inserted above it, so use the row's current index and not `focus`.
    const on = Number(element.closest<HTMLElement>('[data-index]')?.dataset['index'] ?? at);
    const item = list[on];
    const page = Math.max(1, Math.floor(height / row) - 1);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    const isRow = element.classList.contains('row') && !element.classList.contains('head');
    if (event.altKey) return;
    if (event.key in steps) moveTo(on + steps[event.key]!, item, event.shiftKey);
    else if (event.key === 'Home') moveTo(0, item, event.shiftKey);
    else if (event.key === 'End') moveTo(list.length - 1, item, event.shiftKey);
    else if (event.key === 'a' && (event.ctrlKey || event.metaKey)) selectAll();
    else if (event.key === 'Backspace') {
      if (here.value.path === '') return;
      goTo(parentOf(here.value.path));
    } else if (!item || !isRow) return;
    else if (event.key === 'Enter') openRow(item);
    else if (event.key === ' ') toggle(item);
    else if (event.key === 'F2') askRename(item);
    // A key held down must not delete the rows that move up.
    else if (event.key === 'Delete' && !event.repeat) removeRows(meant(item));
    else if (event.key === 'ContextMenu' || (event.key === 'F10' && event.shiftKey)) {
      openMenu(item, below(element.querySelector('.acts button')!));
    } else return;
    event.preventDefault();
  };

  const allChosen = list.length > 0 && list.every((one) => selected.value.has(keyOf(one)));
  const inTrash = place.value.at === 'trash';
  return (
    <>
      <div
        class="list"
        role="grid"
        aria-label={text.list.label}
        aria-rowcount={list.length + 1}
        aria-multiselectable
        tabIndex={-1}
        onKeyDown={onKeyDown}
      >
        <div role="row" class="row head" aria-rowindex={1} tabIndex={-1}>
          <div role="columnheader" class="cell check">
            <label class="hit">
              <input
                type="checkbox"
                checked={allChosen}
                aria-label={text.list.selectAll}
                onChange={() => (allChosen ? clearSelection() : selectAll())}
              />
            </label>
          </div>
          <Header name="name" label={text.list.name} />
          <Header name="size" label={text.list.size} />
          <Header name="date" label={inTrash ? text.trash.when : text.list.date} />
          <div role="columnheader" class="cell acts">
            <span class="unseen">{text.list.acts}</span>
          </div>
        </div>
        <div
          class="rows"
          role="rowgroup"
          ref={scroller}
          onFocusIn={() => {
            held.current = true;
          }}
          onFocusOut={({ relatedTarget }) => {
            if (relatedTarget) held.current = false;
          }}
          onClick={({ target }) => {
            if (!(target as Element).closest('.row')) clearSelection();
          }}
          onContextMenu={(event) => {
            if (event.defaultPrevented || inTrash) return;
            event.preventDefault();
            menu.value = { at: { left: event.clientX, top: event.clientY }, rows: [] };
          }}
        >
          <div class="rows-space" role="presentation" style={{ height: `${list.length * row}px` }}>
            {list.slice(first, last).map((line, offset) => (
              <Row
                key={keyOf(line)}
                row={line}
                index={first + offset}
                top={(first + offset) * row}
                focused={first + offset === at}
                onFocus={setTo(focus, first + offset)}
                onMenu={openMenu}
              />
            ))}
          </div>
        </div>
      </div>
      {menu.value && (
        <Menu
          label={menu.value.rows[0] ? text.list.more(menu.value.rows[0].name) : text.list.acts}
          at={menu.value.at}
          onClose={setTo(menu, null)}
          items={menu.value.rows.length > 0 ? menuFor(menu.value.rows) : menuForPlace()}
        />
      )}
    </>
  );
}
