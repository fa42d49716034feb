/** Breadcrumbs from the root folder to the current one. Each is a link and a drop target. */

import { Icon } from '../../core/controls/icon.tsx';
import { text } from '../../core/text/index.ts';
import { chain } from '../../core/tree.ts';
import { formatAddress } from '../address.ts';
import { dropPath } from '../dragging.ts';
import { here, place } from '../file-list.ts';

export function placeName(): string {
  if (place.value.at === 'trash') return text.trash.title;
  if (place.value.at === 'shared') return text.shared.title;
  if (place.value.at === 'received') return text.received.title;
  return here.value.path === '' ? text.places.all : here.value.name;
}

export function Crumbs() {
  const above = place.value.at === 'folder' ? chain(here.value).slice(0, -1) : [];
  return (
    <div class="crumbs">
      {above.length > 0 && (
        <nav aria-label={text.tree.path}>
          <ol>
            {above.map(({ path, name }) => (
              <li key={path}>
                <a
                  class={dropPath.value === path ? 'drop-here' : ''}
                  href={formatAddress({ place: { at: 'folder', path } })}
                  data-drop={path}
                  draggable={false}
                >
                  <bdi>{path === '' ? text.places.all : name}</bdi>
                </a>
                <Icon name="right" size={14} />
              </li>
            ))}
          </ol>
        </nav>
      )}
      <h1 dir="auto">{placeName()}</h1>
    </div>
  );
}
