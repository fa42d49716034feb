/** The folder tree, for navigation and for choosing a folder. Collapsed folders are not rendered. */

import { type Signal, useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { PlainName } from '../../core/controls/controls.tsx';
import { Icon } from '../../core/controls/icon.tsx';
import { setTo } from '../../core/signals.ts';
import { number, text } from '../../core/text/index.ts';
import { chain, type Folder } from '../../core/tree.ts';
import { dropPath } from '../dragging.ts';
import { byName, tree } from '../file-list.ts';

/** Maximum number of subfolders shown per folder; the list shows the rest. */
const MOST_SHOWN = 300;
/** A folder expands after a drag has stayed over it this long. */
const UNFOLD_MS = 800;

interface VisibleFolder {
  folder: Folder;
  level: number;
}

function* shownBelow(folder: Folder, level: number, open: ReadonlySet<string>): Generator<VisibleFolder> {
  yield { folder, level };
  if (!open.has(folder.path)) return;
  const inner = folder.folders.toSorted(byName);
  for (const one of inner.slice(0, MOST_SHOWN)) yield* shownBelow(one, level + 1, open);
}

/** Expands the folders above this path, so that it is visible. */
export function unfoldTo(open: Signal<ReadonlySet<string>>, path: string): void {
  const found = tree.peek().folder(path);
  if (!found) return;
  const above = chain(found)
    .slice(0, -1)
    .map((folder) => folder.path);
  if (above.some((one) => !open.peek().has(one))) open.value = open.peek().union(new Set(above));
}

interface FolderTreeProps {
  label: string;
  open: Signal<ReadonlySet<string>>;
  /** Path of the selected folder; undefined if none is. */
  current: string | undefined;
  /** Returns why a folder cannot be chosen, or undefined. */
  refused?(folder: Folder): string | undefined;
  /** Returns a note to show beside the name. */
  note?(folder: Folder): string | undefined;
  onChoose(folder: Folder): void;
  onKey?(event: KeyboardEvent, folder: Folder): boolean;
  onMenu?(folder: Folder, at: { left: number; top: number }): void;
  isTarget?: boolean;
}

export function FolderTree(props: FolderTreeProps) {
  const { label, open, current, refused, note, onChoose, onKey, onMenu, isTarget } = props;
  const element = useRef<HTMLDivElement>(null);
  const focus = useSignal('');
  const shown = [...shownBelow(tree.value.top, 1, open.value)];
  const has = shown.some(({ folder }) => folder.path === focus.value);
  const tabbed = has ? focus.value : (current ?? '');
  const isTabbed = shown.some(({ folder }) => folder.path === tabbed) ? tabbed : '';

  useLayoutEffect(() => {
    if (current !== undefined) unfoldTo(open, current);
  }, [current, tree.value]);

  const setOpen = (path: string, now: boolean) => {
    const next = new Set(open.value);
    if (now) next.add(path);
    else next.delete(path);
    open.value = next;
  };
  const focusOn = (path: string | undefined) => {
    if (path === undefined) return;
    focus.value = path;
    const items = element.current!.querySelectorAll<HTMLElement>('[role=treeitem]');
    for (const item of items) if (item.dataset['path'] === path) item.focus();
  };

  const onKeyDown = (event: KeyboardEvent, { folder }: VisibleFolder) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const at = shown.findIndex((one) => one.folder === folder);
    const { path } = folder;
    const isOpen = open.value.has(path);
    const hasInner = folder.folders.length > 0;
    if (event.key === 'ArrowDown') focusOn(shown[at + 1]?.folder.path);
    else if (event.key === 'ArrowUp') focusOn(shown[at - 1]?.folder.path);
    else if (event.key === 'Home') focusOn(shown[0]?.folder.path);
    else if (event.key === 'End') focusOn(shown.at(-1)?.folder.path);
    else if (event.key === 'ArrowRight') {
      if (hasInner && !isOpen) setOpen(path, true);
      else if (hasInner) focusOn(shown[at + 1]?.folder.path);
    } else if (event.key === 'ArrowLeft') {
      if (isOpen && hasInner) setOpen(path, false);
      else focusOn(folder.above?.path);
    } else if (event.key === 'Enter' || event.key === ' ') {
      if (!refused?.(folder)) onChoose(folder);
    } else if (!onKey?.(event, folder)) return;
    event.preventDefault();
    event.stopPropagation();
  };

  let unfolding: ReturnType<typeof setTimeout> | undefined;
  return (
    <div role="tree" aria-label={label} class="tree" ref={element}>
      {shown.map((one) => {
        const { folder, level } = one;
        const { path, count, verified } = folder;
        const hasInner = folder.folders.length > 0;
        const isOpen = open.value.has(path);
        const why = refused?.(folder);
        const said = note?.(folder);
        return (
          <div
            key={path}
            role="treeitem"
            class={`place ${isTarget && dropPath.value === path ? 'drop-here' : ''}`}
            aria-level={level}
            aria-expanded={hasInner ? isOpen : undefined}
            aria-selected={path === current}
            aria-current={path === current ? 'page' : undefined}
            aria-disabled={why !== undefined}
            title={why}
            data-path={path}
            data-drop={isTarget ? path : undefined}
            tabIndex={path === isTabbed ? 0 : -1}
            style={{ paddingInlineStart: `${6 + (level - 1) * 16}px` }}
            onFocus={setTo(focus, path)}
            onClick={() => {
              if (!why) onChoose(folder);
            }}
            onKeyDown={(event) => onKeyDown(event, one)}
            onContextMenu={(event) => {
              if (!onMenu) return;
              event.preventDefault();
              onMenu(folder, { left: event.clientX, top: event.clientY });
            }}
            onDragEnter={() => {
              clearTimeout(unfolding);
              unfolding = setTimeout(() => {
                if (hasInner && dropPath.value === path) setOpen(path, true);
              }, UNFOLD_MS);
            }}
          >
            <span
              class={`twist ${isOpen ? 'open' : ''}`}
              onClick={(event) => {
                if (!hasInner) return;
                event.stopPropagation();
                setOpen(path, !isOpen);
              }}
            >
              {hasInner && <Icon name="right" size={16} />}
            </span>
            <Icon name={path === '' ? 'files' : 'folder'} />
            <span class="place-name">
              <bdi>{path === '' ? text.places.all : folder.name}</bdi>
              {!verified && <PlainName hint={text.places.unverifiedHint} />}
            </span>
            {said !== undefined ? (
              <span class="badge">{said}</span>
            ) : (
              <span class="place-count">{number(count)}</span>
            )}
          </div>
        );
      })}
    </div>
  );
}
