/** Where to move or copy to: a tree that shows where things are, and can have another folder made in it. */
import { useSignal } from '@preact/signals';
import { closeDialog } from '../page/actions.ts';
import { copy, makeFolder, mayMove, move, refusalOf } from '../page/operations.ts';
import { isFolder, type Row } from '../page/shelf.ts';
import { type Folder, isWithin, joinPath, parentOf } from '../page/tree.ts';
import { text } from '../text.ts';
import { Modal } from './controls.tsx';
import { FolderTree, unfoldTo } from './folder-tree.tsx';
import { Icon } from './icon.tsx';
import { NameForm } from './name-dialogs.tsx';

export function ChooseFolder({ kind, rows }: { kind: 'move' | 'copy'; rows: Row[] }) {
  const homes = new Set(rows.map(({ path }) => parentOf(path)));
  const [home = ''] = homes;
  const target = useSignal(home);
  const open = useSignal<ReadonlySet<string>>(new Set(['', home]));
  const making = useSignal(false);
  const words = text[kind];
  const refused = ({ path }: Folder) =>
    rows.some((row) => isFolder(row) && isWithin(path, row.path)) ? text.tree.intoItself : undefined;
  const may = kind === 'copy' || mayMove(rows, target.value);
  return (
    <Modal title={words.title(rows.length)} class="chooser" onClose={closeDialog}>
      <FolderTree
        label={words.title(rows.length)}
        open={open}
        current={target.value}
        refused={refused}
        note={({ path }) => (homes.has(path) ? text.tree.here : undefined)}
        onChoose={({ path }) => {
          target.value = path;
        }}
      />
      {making.value ? (
        <NameForm
          label={text.places.makeName}
          act={text.places.makeDo}
          refusal={(name) => refusalOf(target.value, name)}
          onCancel={() => {
            making.value = false;
          }}
          onName={async (name) => {
            const path = joinPath(target.value, name);
            await makeFolder(path);
            unfoldTo(open, path);
            target.value = path;
            making.value = false;
          }}
        />
      ) : (
        <footer class="modal-foot">
          <button
            type="button"
            class="button aside"
            onClick={() => {
              making.value = true;
            }}
          >
            <Icon name="folderAdd" />
            {text.tree.makeHere}
          </button>
          <button type="button" class="button" onClick={closeDialog}>
            {text.actions.cancel}
          </button>
          <button
            type="button"
            class="button primary"
            disabled={!may}
            onClick={() => {
              closeDialog();
              void (kind === 'move' ? move : copy)(rows, target.value);
            }}
          >
            {words.do}
          </button>
        </footer>
      )}
    </Modal>
  );
}
