/** The list of shared files. Each can be previewed and downloaded, and all of them as one zip. */

import { useSignal } from '@preact/signals';
import { displayName, parentOf, safeSegments } from '@szafa/client';
import type { SharedItem } from '../core/bridge/calls.ts';
import { withoutSlashes } from '../core/bridge/paths.ts';
import { Button, IconButton } from '../core/controls/controls.tsx';
import { Icon, iconOf } from '../core/controls/icon.tsx';
import { bytes } from '../core/format.ts';
import { setTo } from '../core/signals.ts';
import { text } from '../core/text/index.ts';
import { Preview } from '../files/preview/preview.tsx';
import { download, saveZip } from '../transfers/downloads.ts';
import { words } from './text/visitor.ts';

/** Number of rows shown at first, and added by each click on "more". */
const ROWS = 300;

export const isReadable = ({ missing, isFolder, isLink }: SharedItem) => !missing && !isFolder && !isLink;

/** Returns the name of the top folder that contains all items, or ''. */
export function topOf(items: readonly SharedItem[]): string {
  const [first = ''] = items[0]?.path.split('/') ?? [];
  return items.every(({ path }) => path.startsWith(`${first}/`)) ? first : '';
}

function Row({ item, onShow }: { item: SharedItem; onShow(): void }) {
  const { name, path, size, missing, isFolder, isLink } = item;
  const folder = parentOf(withoutSlashes(path));
  return (
    <li class="shared-file">
      <span class={`file-icon ${isFolder ? 'of-folder' : ''}`}>
        <Icon name={isFolder ? 'folder' : iconOf(name)} />
      </span>
      <span class="shared-words">
        {isReadable(item) ? (
          <button type="button" class="shared-name" onClick={onShow}>
            <bdi>{name}</bdi>
          </button>
        ) : (
          <bdi class="shared-name">{name}</bdi>
        )}
        <span class="hint">
          {missing
            ? text.visitor.missing
            : [folder && displayName(folder), isLink ? words.symbolicLink : !isFolder && bytes(size)]
                .filter(Boolean)
                .join(' · ')}
        </span>
      </span>
      {isReadable(item) && (
        <IconButton
          icon="download"
          label={text.visitor.downloadOf(name)}
          onClick={() => void download(item)}
        />
      )}
    </li>
  );
}

interface FilesProps {
  items: SharedItem[];
  /** Name of the zip, unless all files are in one folder. */
  name?: string;
}

export function SharedFileList({ items, name = text.name }: FilesProps) {
  const previewed = useSignal<SharedItem | null>(null);
  const rows = useSignal(ROWS);
  const files = items.filter(isReadable);
  const [first] = files;
  const all = () => {
    const there = items.filter(({ missing, isLink }) => !missing && !isLink);
    const size = files.reduce((sum, file) => sum + file.size, 0);
    const parts = there.map(({ fileId, path }) => ({ fileId, path }));
    return saveZip({ name: `${safeSegments(topOf(items) || name).at(-1)!}.zip`, parts }, size);
  };
  return (
    <>
      {first && (
        <Button
          class="primary wide"
          icon="download"
          label={items.length === 1 ? text.actions.download : text.visitor.downloadAll}
          onClick={() => void (items.length === 1 ? download(first) : all())}
        />
      )}
      <ul class="shared-files" aria-label={text.list.label}>
        {items.slice(0, rows.value).map((item) => (
          <Row key={item.fileId} item={item} onShow={setTo(previewed, item)} />
        ))}
      </ul>
      {items.length > rows.value && (
        <Button
          label={text.visitor.more(items.length - rows.value)}
          onClick={() => {
            rows.value += ROWS;
          }}
        />
      )}
      {previewed.value && (
        <Preview
          item={previewed.value}
          among={files}
          now={() => previewed.peek() ?? undefined}
          onShow={(item) => {
            previewed.value = item as SharedItem;
          }}
          onClose={setTo(previewed, null)}
        />
      )}
    </>
  );
}
