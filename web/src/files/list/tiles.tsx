/** Files as tiles, with section titles in the timeline. Only visible lines are rendered. */

import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import type { Item } from '../../core/bridge/calls.ts';
import { Icon, iconOf } from '../../core/controls/icon.tsx';
import { setTo } from '../../core/signals.ts';
import { text } from '../../core/text/index.ts';
import { dialog } from '../actions.ts';
import { selected } from '../file-list.ts';
import { toggle } from '../selection.ts';
import { requestThumbnail } from '../thumbnails/thumbnails.ts';
import { isTimeline, type Section, sections } from './layout.ts';
import { useSight } from './virtual-scroll.ts';

const TILE = { width: 172, height: 188 };
const TITLE_HEIGHT = 48;
const SPARE_PX = 300;

type Line = { top: number; height: number } & ({ title: string } | { from: number; items: Item[] });

/** Lays out section titles and rows of tiles, one below the other. */
function linesOf(all: Section[], columns: number): Line[] {
  const lines: Line[] = [];
  let [top, from] = [0, 0];
  for (const { title, items } of all) {
    if (title !== '') {
      lines.push({ top, height: TITLE_HEIGHT, title });
      top += TITLE_HEIGHT;
    }
    for (let at = 0; at < items.length; at += columns) {
      const row = items.slice(at, at + columns);
      lines.push({ top, height: TILE.height, from, items: row });
      from += row.length;
      top += TILE.height;
    }
  }
  return lines;
}

function Thumbnail({ item }: { item: Item }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const drawn = useSignal(false);
  useEffect(() => {
    drawn.value = false;
    return requestThumbnail(item.fileId, (picture) => {
      const target = canvas.current;
      if (!target) return picture.close();
      target.width = picture.width;
      target.height = picture.height;
      target.getContext('bitmaprenderer')!.transferFromImageBitmap(picture);
      drawn.value = true;
    });
  }, [item.fileId]);
  return (
    <span class="thumbnail">
      <canvas ref={canvas} hidden={!drawn.value} />
      {!drawn.value && <Icon name={iconOf(item.name)} size={40} />}
    </span>
  );
}

function Tile({ item, index, focused }: { item: Item; index: number; focused: boolean }) {
  const { fileId, name } = item;
  const chosen = selected.value.has(fileId);
  return (
    <li class={`tile ${chosen ? 'chosen' : ''}`}>
      <button
        type="button"
        class="tile-open"
        data-index={index}
        tabIndex={focused ? 0 : -1}
        title={name}
        onClick={setTo(dialog, { kind: 'preview', item })}
      >
        <Thumbnail item={item} />
        <bdi class="tile-name">{name.slice(name.lastIndexOf('/') + 1)}</bdi>
      </button>
      {/* A selection belongs to one place, but the timeline shows files of all folders. */}
      {!isTimeline.value && (
        <label class="tile-check">
          <input
            type="checkbox"
            checked={chosen}
            aria-label={text.list.select(name)}
            onChange={() => toggle(item)}
          />
        </label>
      )}
    </li>
  );
}

const look = (scroller: HTMLElement) => ({
  top: scroller.scrollTop,
  height: scroller.clientHeight,
  columns: Math.max(2, Math.floor(scroller.clientWidth / TILE.width)),
});

export function Tiles() {
  const { scroller, view, focusOn } = useSight(look, { top: 0, height: 800, columns: 4 });
  const focus = useSignal(0);
  const all = sections.value;
  const { top, height, columns } = view.value;
  const lines = useMemo(() => linesOf(all, columns), [all, columns]);
  const count = all.reduce((sum, { items }) => sum + items.length, 0);

  const moveTo = (index: number) => {
    const next = Math.max(0, Math.min(count - 1, index));
    focus.value = next;
    const line = lines.find((one) => 'items' in one && next < one.from + one.items.length);
    if (line) focusOn(next, line.top, line.height);
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const from = Number((event.target as HTMLElement).dataset['index'] ?? Number.NaN);
    if (Number.isNaN(from)) return;
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns };
    const step = steps[event.key as keyof typeof steps];
    if (step !== undefined) moveTo(from + step);
    else if (event.key === 'Home') moveTo(0);
    else if (event.key === 'End') moveTo(count - 1);
    else return;
    event.preventDefault();
  };

  const last = lines.at(-1);
  const near = lines.filter(
    (line) => line.top + line.height > top - SPARE_PX && line.top < top + height + SPARE_PX,
  );
  const at = Math.min(focus.value, Math.max(0, count - 1));
  return (
    <div ref={scroller} class="tiles" role="presentation" onKeyDown={onKeyDown}>
      <div class="tiles-all" style={{ height: `${last ? last.top + last.height : 0}px` }}>
        {near.map((line) =>
          'title' in line ? (
            <h2 key={line.title} style={{ transform: `translateY(${line.top}px)` }}>
              {line.title}
            </h2>
          ) : (
            <ul
              key={line.items[0]!.fileId}
              aria-label={text.list.label}
              style={{
                transform: `translateY(${line.top}px)`,
                gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`,
              }}
            >
              {line.items.map((item, offset) => (
                <Tile
                  key={item.fileId}
                  item={item}
                  index={line.from + offset}
                  focused={line.from + offset === at}
                />
              ))}
            </ul>
          ),
        )}
      </div>
    </div>
  );
}
