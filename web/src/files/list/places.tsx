import { signal, useSignal } from '@preact/signals';
import { Menu, type MenuItem, type MenuPlace } from '../../core/controls/controls.tsx';
import { Icon, type IconName } from '../../core/controls/icon.tsx';
import { bytes } from '../../core/format.ts';
import { setTo } from '../../core/signals.ts';
import { text } from '../../core/text/index.ts';
import type { Folder } from '../../core/tree.ts';
import { offersLinks } from '../../sharing/links.ts';
import { dialog } from '../actions.ts';
import type { Place } from '../address.ts';
import { go, here, place, quota } from '../file-list.ts';
import { trash } from '../operations.ts';
import { FolderTree } from './folder-tree.tsx';
import { askNewFolder, menuFor } from './row-menu.ts';

/** Paths of expanded folders, kept here so that they stay expanded while the tree is not rendered. */
const unfolded = signal<ReadonlySet<string>>(new Set(['']));

function QuotaBar() {
  const now = quota.value;
  if (!now) return null;
  const { used_bytes: used, quota_bytes: all, percent } = now;
  const words = text.quota.of(bytes(used), bytes(all));
  return (
    <div class="quota">
      <div class="quota-words">
        <span>{text.quota.label}</span>
        <span>{words}</span>
      </div>
      <div
        role="meter"
        class={`quota-bar ${percent >= 90 ? 'full' : ''}`}
        aria-valuenow={Math.min(100, percent)}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuetext={words}
        aria-label={text.quota.label}
      >
        <span style={{ width: `${Math.min(100, percent)}%` }} />
      </div>
      {percent >= 100 && <p class="quota-over">{text.quota.over}</p>}
    </div>
  );
}

function menuOf(folder: Folder): MenuItem[] {
  const make: MenuItem = {
    icon: 'folderAdd',
    label: text.places.make,
    act: () => askNewFolder(folder.path),
  };
  return folder.path === '' ? [make] : [make, ...menuFor([folder])];
}

/** The same keys as in the file list. */
function onKey(event: KeyboardEvent, folder: Folder): boolean {
  if (folder.path === '') return false;
  if (event.key === 'F2') dialog.value = { kind: 'rename', row: folder };
  else if (event.key === 'Delete' && !event.repeat) void trash([folder]);
  else return false;
  return true;
}

interface OtherPlaceProps {
  icon: IconName;
  name: string;
  isHere: boolean;
  onGo(): void;
}

/** A place that is not a folder, such as the trash. */
function OtherPlace({ icon, name, isHere, onGo }: OtherPlaceProps) {
  return (
    <button type="button" class="place other" aria-current={isHere ? 'page' : undefined} onClick={onGo}>
      <span class="twist" />
      <Icon name={icon} />
      <span class="place-name">{name}</span>
    </button>
  );
}

export function Places({ onGo }: { onGo(): void }) {
  const menu = useSignal<{ folder: Folder; at: MenuPlace } | null>(null);
  const { at } = place.value;
  const goes = (to: Place) => () => {
    go(to);
    onGo();
  };
  return (
    <nav class="places" aria-label={text.places.title}>
      <div class="places-list">
        <FolderTree
          label={text.places.title}
          open={unfolded}
          current={at === 'folder' ? here.value.path : undefined}
          isTarget
          onChoose={({ path }) => goes({ at: 'folder', path })()}
          onKey={(event, folder) => {
            const isMenu = event.key === 'ContextMenu' || (event.key === 'F10' && event.shiftKey);
            if (!isMenu) return onKey(event, folder);
            const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
            menu.value = { folder, at: { left: box.left + 24, top: box.bottom } };
            return true;
          }}
          onMenu={(folder, at) => {
            menu.value = { folder, at };
          }}
        />
        {offersLinks.value && (
          <OtherPlace
            icon="link"
            name={text.shared.title}
            isHere={at === 'shared'}
            onGo={goes({ at: 'shared' })}
          />
        )}
        {offersLinks.value && (
          <OtherPlace
            icon="person"
            name={text.received.title}
            isHere={at === 'received'}
            onGo={goes({ at: 'received' })}
          />
        )}
        <OtherPlace
          icon="trash"
          name={text.trash.title}
          isHere={at === 'trash'}
          onGo={goes({ at: 'trash' })}
        />
      </div>
      <QuotaBar />
      {menu.value && (
        <Menu
          label={text.list.more(menu.value.folder.name)}
          at={menu.value.at}
          onClose={setTo(menu, null)}
          items={menuOf(menu.value.folder)}
        />
      )}
    </nav>
  );
}
