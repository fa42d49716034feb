import { Icon, type IconName } from '../../core/controls/icon.tsx';
import { chosenLayout } from '../../core/settings.ts';
import { setTo } from '../../core/signals.ts';
import { text } from '../../core/text/index.ts';
import { goTo, isFolder, place, rows } from '../file-list.ts';
import { FileList } from './file-list.tsx';
import { isTimeline } from './layout.ts';
import { Tiles } from './tiles.tsx';

const LAYOUTS: [layout: typeof chosenLayout.value, icon: IconName][] = [
  ['list', 'menu'],
  ['grid', 'grid'],
  ['timeline', 'image'],
];

/** Buttons that switch between list, tiles and timeline. */
export function LayoutButtons() {
  return (
    <div class="layouts" role="group" aria-label={text.layouts.title}>
      {LAYOUTS.map(([layout, icon]) => (
        <button
          key={layout}
          type="button"
          class="icon-button"
          aria-label={text.layouts[layout]}
          title={text.layouts[layout]}
          aria-pressed={chosenLayout.value === layout}
          onClick={setTo(chosenLayout, layout)}
        >
          <Icon name={icon} />
        </button>
      ))}
    </div>
  );
}

/** The folders of the current place, or those found by a search, above the tiles. */
function Folders() {
  const inner = rows.value.filter(isFolder);
  if (inner.length === 0 || isTimeline.value) return null;
  return (
    <div class="tile-folders">
      {inner.map(({ path, name }) => (
        <button key={path} type="button" class="button" data-drop={path} onClick={() => goTo(path)}>
          <Icon name="folder" />
          <bdi>{name}</bdi>
        </button>
      ))}
    </div>
  );
}

export function Files() {
  if (chosenLayout.value === 'list' || place.value.at === 'trash') return <FileList />;
  return (
    <>
      <Folders />
      <Tiles />
    </>
  );
}
