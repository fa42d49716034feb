/** The versions of a file. Each can be downloaded, restored or moved to the trash. */

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Item, VersionInfo } from '../../core/bridge/calls.ts';
import { call, faultOf } from '../../core/call.ts';
import { IconButton, Modal, Spinner } from '../../core/controls/controls.tsx';
import { bytes, fullDate } from '../../core/format.ts';
import { explain, text } from '../../core/text/index.ts';
import { download } from '../../transfers/downloads.ts';
import { closeDialog, dialog } from '../actions.ts';
import { changed } from '../file-list.ts';

interface VersionRowProps {
  item: Item;
  version: VersionInfo;
  isCurrent: boolean;
  isBusy: boolean;
  onRestore(): void;
  onRemove(): void;
}

function VersionRow({ item, version, isCurrent, isBusy, onRestore, onRemove }: VersionRowProps) {
  const { fileId, size, added, problem } = version;
  const words = text.versions;
  const when = fullDate(added);
  return (
    <li>
      <div class="version-words">
        <span>{when}</span>
        {isCurrent && <span class="badge own">{words.current}</span>}
        {problem && <span class="badge bad">{text.list.problem}</span>}
        <small class="hint">{bytes(size)}</small>
      </div>
      <IconButton
        icon="download"
        label={words.download(when)}
        onClick={() => void download({ ...item, fileId, size })}
      />
      {!isCurrent && (
        <IconButton
          icon="retry"
          label={words.restore(when)}
          disabled={isBusy || problem !== undefined}
          onClick={onRestore}
        />
      )}
      <IconButton
        icon="trash"
        class="danger"
        label={words.remove(when)}
        disabled={isBusy}
        onClick={onRemove}
      />
    </li>
  );
}

export function Versions({ item }: { item: Item }) {
  const versions = useSignal<VersionInfo[] | null>(null);
  const said = useSignal('');
  const trouble = useSignal('');
  const busy = useSignal(false);
  const words = text.versions;

  const read = async () => {
    versions.value = await call('versions', item.path);
  };
  /** Runs `work` and reads the versions again. */
  const act = async (work: () => Promise<unknown>, done: string) => {
    const own = dialog.peek();
    busy.value = true;
    trouble.value = '';
    said.value = '';
    try {
      await work();
      said.value = done;
      await changed();
      await read();
    } catch (error) {
      trouble.value = explain(faultOf(error));
    } finally {
      busy.value = false;
    }
    if (versions.value?.length === 0 && dialog.peek() === own) closeDialog();
  };
  useEffect(() => {
    void act(read, '');
  }, []);

  const all = versions.value;
  return (
    <Modal title={words.title} class="versions" onClose={closeDialog}>
      <p>
        <bdi>{item.name}</bdi>
      </p>
      <p class="trouble" role="alert">
        {trouble.value}
      </p>
      <p role="status" class="said">
        {said.value}
      </p>
      {!all && !trouble.value && <Spinner label={text.preview.opening} />}
      {all && (
        <ul>
          {all.map((version, at) => (
            <VersionRow
              key={version.fileId}
              item={item}
              version={version}
              isCurrent={at === 0}
              isBusy={busy.value}
              onRestore={() => void act(() => call('restoreVersion', version.fileId), words.restored)}
              onRemove={() => void act(() => call('trashVersion', version.fileId), text.trash.done(1))}
            />
          ))}
        </ul>
      )}
      {all?.length === 1 && <p>{words.one}</p>}
    </Modal>
  );
}
