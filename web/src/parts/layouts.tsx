import { chosenLayout } from '../page/settings.ts';
import { text } from '../text.ts';
import { FileList } from './file-list.tsx';
import { Icon, type IconName } from './icon.tsx';
import { Tiles } from './tiles.tsx';

const LAYOUTS: [layout: typeof chosenLayout.value, icon: IconName][] = [
  ['list', 'menu'],
  ['grid', 'grid'],
  ['timeline', 'image'],
];

/** Whether files are looked at as a list, as tiles, or by month. */
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
          onClick={() => {
            chosenLayout.value = layout;
          }}
        >
          <Icon name={icon} />
        </button>
      ))}
    </div>
  );
}

export function Files() {
  return chosenLayout.value === 'list' ? <FileList /> : <Tiles />;
}
