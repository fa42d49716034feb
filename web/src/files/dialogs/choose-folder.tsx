/** Dialogs that choose a folder in the tree, or create one there. */

import { useSignal } from '@preact/signals';
import { Button, Modal, ModalFoot } from '../../core/controls/controls.tsx';
import { setTo } from '../../core/signals.ts';
import { text } from '../../core/text/index.ts';
import { type Folder, isWithin, joinPath, parentOf } from '../../core/tree.ts';
import { closeDialog } from '../actions.ts';
import { isFolder, type Row } from '../file-list.ts';
import { FolderTree, unfoldTo } from '../list/folder-tree.tsx';
import { copy, makeFolder, mayMove, move, nameProblem } from '../operations.ts';
import { NameForm } from './name-dialogs.tsx';

interface FolderPickerProps {
  title: string;
  /** Path of the initially selected folder. */
  home: string;
  act: string;
  refused?(folder: Folder): string | undefined;
  note?(folder: Folder): string | undefined;
  may?(path: string): boolean;
  onClose(): void;
  onChoose(path: string): void;
}

/** Lets the user choose a folder of the tree or create one. */
export function FolderPicker({
  title,
  home,
  act,
  refused = () => undefined,
  note = () => undefined,
  may = () => true,
  onClose,
  onChoose,
}: FolderPickerProps) {
  const target = useSignal(home);
  const open = useSignal<ReadonlySet<string>>(new Set(['', home]));
  const making = useSignal(false);
  return (
    <Modal title={title} class="chooser" onClose={onClose}>
      <FolderTree
        label={title}
        open={open}
        current={target.value}
        refused={refused}
        note={note}
        onChoose={({ path }) => {
          target.value = path;
        }}
      />
      {making.value ? (
        <NameForm
          label={text.places.makeName}
          act={text.places.makeDo}
          refusal={(name) => nameProblem(target.value, name)}
          onCancel={setTo(making, false)}
          onName={async (name) => {
            const path = joinPath(target.value, name);
            await makeFolder(path);
            unfoldTo(open, path);
            target.value = path;
            making.value = false;
          }}
        />
      ) : (
        <ModalFoot
          act={act}
          disabled={!may(target.value)}
          onCancel={onClose}
          onAct={() => onChoose(target.value)}
        >
          <Button class="aside" icon="folderAdd" label={text.tree.makeHere} onClick={setTo(making, true)} />
        </ModalFoot>
      )}
    </Modal>
  );
}

export function ChooseFolder({ kind, rows }: { kind: 'move' | 'copy'; rows: Row[] }) {
  const homes = new Set(rows.map(({ path }) => parentOf(path)));
  const [home = ''] = homes;
  const words = text[kind];
  return (
    <FolderPicker
      title={words.title(rows.length)}
      home={home}
      act={words.do}
      refused={({ path }) =>
        rows.some((row) => isFolder(row) && isWithin(path, row.path)) ? text.tree.intoItself : undefined
      }
      note={({ path }) => (homes.has(path) ? text.tree.here : undefined)}
      may={(path) => kind === 'copy' || mayMove(rows, path)}
      onClose={closeDialog}
      onChoose={(path) => {
        closeDialog();
        void (kind === 'move' ? move : copy)(rows, path);
      }}
    />
  );
}
