/** The list of files. Only the rows in sight are in the page, so that ten thousand cost as much as twenty. */
import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { Item } from '../bridge.ts';
import { dialog } from '../page/actions.ts';
import { download } from '../page/downloads.ts';
import { bytes, date, fullDate } from '../page/format.ts';
import {
  dirNames,
  filter,
  place,
  type SortKey,
  selected,
  sort,
  sortBy,
  toggle,
  visible,
} from '../page/shelf.ts';
import { text } from '../text.ts';
import { IconButton, Menu, PlainName } from './controls.tsx';
import { Icon, iconOf } from './icon.tsx';

const SPARE_ROWS = 6;

const preview = (item: Item) => {
  dialog.value = { kind: 'preview', item };
};

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

function Name({ item }: { item: Item }) {
  const at = item.name.lastIndexOf('/') + 1;
  return (
    <button
      type="button"
      class="file-name"
      tabIndex={-1}
      title={item.name}
      onClick={(event) => {
        event.stopPropagation();
        preview(item);
      }}
    >
      <bdi>
        {at > 0 && <span class="path">{item.name.slice(0, at)}</span>}
        {item.name.slice(at)}
      </bdi>
    </button>
  );
}

interface RowProps {
  item: Item;
  index: number;
  top: number;
  focused: boolean;
  onFocus(): void;
  onMenu(item: Item, button: HTMLElement): void;
}

function Row({ item, index, top, focused, onFocus, onMenu }: RowProps) {
  const chosen = selected.value.has(item.fileId);
  const dirName = place.value === 'all' && item.dirId ? dirNames.value.get(item.dirId) : undefined;
  return (
    <div
      role="row"
      class="row"
      aria-rowindex={index + 2}
      aria-selected={chosen}
      data-index={index}
      tabIndex={focused ? 0 : -1}
      style={{ transform: `translateY(${top}px)` }}
      onFocus={onFocus}
      onClick={onFocus}
    >
      <div role="gridcell" class="cell check">
        <input
          type="checkbox"
          tabIndex={-1}
          checked={chosen}
          aria-label={text.list.select(item.name)}
          onClick={(event) => event.stopPropagation()}
          onChange={() => toggle(item.fileId)}
        />
      </div>
      <div role="gridcell" class="cell name">
        <span class="file-icon">
          <Icon name={iconOf(item.name)} />
        </span>
        <Name item={item} />
        {item.problem ? (
          <span class="badge bad" title={text.list.problemHint}>
            {text.list.problem}
          </span>
        ) : (
          !item.verified && <PlainName hint={text.list.unverifiedHint} />
        )}
        {dirName !== undefined && (
          <span class="in-dir">
            <Icon name="folder" size={14} />
            <bdi>{dirName}</bdi>
          </span>
        )}
      </div>
      <div role="gridcell" class="cell size">
        {bytes(item.size)}
      </div>
      <div role="gridcell" class="cell date" title={fullDate(item.createdAt)}>
        {date(item.createdAt)}
      </div>
      <div role="gridcell" class="cell acts">
        <IconButton
          icon="more"
          label={text.list.more(item.name)}
          onClick={(event) => {
            event.stopPropagation();
            onMenu(item, event.currentTarget as HTMLElement);
          }}
        />
      </div>
    </div>
  );
}

export function FileList() {
  const scroller = useRef<HTMLDivElement>(null);
  const view = useSignal({ top: 0, height: 800, row: 52 });
  const focus = useSignal(0);
  /** A row has the focus, or had it last. */
  const held = useRef(false);
  const menu = useSignal<{ item: Item; right: number; top: number } | null>(null);
  const list = visible.value;

  useLayoutEffect(() => {
    const element = scroller.current!;
    const measure = () => {
      const row = Number.parseInt(getComputedStyle(element).getPropertyValue('--row'), 10) || 52;
      view.value = { top: element.scrollTop, height: element.clientHeight, row };
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', measure);
    };
  }, []);

  // Another place, filter or order begins at its top.
  useEffect(() => {
    focus.value = 0;
    scroller.current!.scrollTop = 0;
  }, [place.value, filter.value, sort.value]);

  // The row with the focus was deleted, here or elsewhere: the keyboard goes on at the one in its place.
  useLayoutEffect(() => {
    const element = scroller.current!;
    if (held.current && document.activeElement === document.body) {
      element.querySelector<HTMLElement>('[tabindex="0"]')?.focus({ preventScroll: true });
    }
  }, [list]);

  const { top, height, row } = view.value;
  const first = Math.max(0, Math.floor(top / row) - SPARE_ROWS);
  const last = Math.min(list.length, Math.ceil((top + height) / row) + SPARE_ROWS);
  const at = Math.min(focus.value, Math.max(0, list.length - 1));

  const moveTo = (index: number) => {
    const next = Math.max(0, Math.min(list.length - 1, index));
    focus.value = next;
    const element = scroller.current!;
    if (next * row < element.scrollTop) element.scrollTop = next * row;
    else if ((next + 1) * row > element.scrollTop + element.clientHeight) {
      element.scrollTop = (next + 1) * row - element.clientHeight;
    }
    requestAnimationFrame(() => element.querySelector<HTMLElement>(`[data-index="${next}"]`)?.focus());
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const item = list[at];
    const page = Math.max(1, Math.floor(height / row) - 1);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    const isRow = (event.target as HTMLElement).classList.contains('row');
    if (event.key in steps) moveTo(at + steps[event.key]!);
    else if (event.key === 'Home') moveTo(0);
    else if (event.key === 'End') moveTo(list.length - 1);
    else if (event.key === 'a' && (event.ctrlKey || event.metaKey)) {
      selected.value = new Set(list.map(({ fileId }) => fileId));
    } else if (!item || !isRow) return;
    else if (event.key === 'Enter') preview(item);
    else if (event.key === ' ') toggle(item.fileId);
    else if (event.key === 'Delete') {
      const chosen = list.filter(({ fileId }) => selected.value.has(fileId));
      dialog.value = { kind: 'remove', items: chosen.length > 0 ? chosen : [item] };
    } else return;
    event.preventDefault();
  };

  const allChosen = list.length > 0 && list.every(({ fileId }) => selected.value.has(fileId));
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
            <input
              type="checkbox"
              checked={allChosen}
              aria-label={text.list.selectAll}
              onChange={() => {
                selected.value = new Set(allChosen ? [] : list.map(({ fileId }) => fileId));
              }}
            />
          </div>
          <Header name="name" label={text.list.name} />
          <Header name="size" label={text.list.size} />
          <Header name="date" label={text.list.date} />
          <div role="columnheader" class="cell acts" aria-label={text.list.acts} />
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
        >
          <div class="rows-space" role="presentation" style={{ height: `${list.length * row}px` }}>
            {list.slice(first, last).map((item, offset) => (
              <Row
                key={item.fileId}
                item={item}
                index={first + offset}
                top={(first + offset) * row}
                focused={first + offset === at}
                onFocus={() => {
                  focus.value = first + offset;
                }}
                onMenu={(of, button) => {
                  const box = button.getBoundingClientRect();
                  menu.value = { item: of, right: globalThis.innerWidth - box.right, top: box.bottom + 4 };
                }}
              />
            ))}
          </div>
        </div>
      </div>
      {menu.value && (
        <Menu
          label={text.list.more(menu.value.item.name)}
          at={menu.value}
          onClose={() => {
            menu.value = null;
          }}
          items={menuFor(menu.value.item)}
        />
      )}
    </>
  );
}

function menuFor(item: Item) {
  const ask = (kind: 'move' | 'copy' | 'remove') => () => {
    dialog.value = { kind, items: [item] };
  };
  return [
    { icon: 'eye' as const, label: text.actions.preview, act: () => preview(item) },
    { icon: 'download' as const, label: text.actions.download, act: () => void download([item]) },
    { icon: 'move' as const, label: text.actions.move, act: ask('move') },
    { icon: 'copy' as const, label: text.actions.copy, act: ask('copy') },
    { icon: 'trash' as const, label: text.actions.remove, act: ask('remove'), danger: true },
  ];
}
