/** Where a name is typed: of a new folder, or another one for what has one. */
import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { closeDialog, dialog } from '../page/actions.ts';
import { faultOf } from '../page/core.ts';
import { makeFolder, refusalOf, rename } from '../page/operations.ts';
import { goTo, isFolder, type Row } from '../page/shelf.ts';
import { joinPath, lastOf, parentOf } from '../page/tree.ts';
import { explain, text } from '../text.ts';
import { Modal, ModalFoot } from './controls.tsx';

interface NameFormProps {
  label: string;
  act: string;
  /** What stands there at first. */
  first?: string;
  /** How much of that is chosen, to be typed over. */
  chosen?: number;
  /** Why a name will not do; '' where it will. */
  refusal(name: string): string;
  onCancel(): void;
  onName(name: string): Promise<void>;
}

export function NameForm({ label, act, first = '', chosen = 0, refusal, onCancel, onName }: NameFormProps) {
  const name = useSignal(first);
  const trouble = useSignal('');
  const working = useSignal(false);
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    field.current!.focus();
    field.current!.setSelectionRange(0, chosen);
  }, []);
  return (
    <form
      onSubmit={async (event) => {
        event.preventDefault();
        event.stopPropagation();
        const wish = name.value.trim();
        trouble.value = refusal(wish);
        if (trouble.value !== '' || working.value) return;
        working.value = true;
        try {
          await onName(wish);
        } catch (error) {
          trouble.value = explain(faultOf(error));
        } finally {
          working.value = false;
        }
      }}
    >
      <label class="field">
        <span>{label}</span>
        <input
          ref={field}
          name="name"
          // biome-ignore lint/a11y/noAutofocus: it is shown to be typed into
          autoFocus
          autocomplete="off"
          spellcheck={false}
          value={name.value}
          onInput={(event) => {
            name.value = event.currentTarget.value;
          }}
        />
      </label>
      <p class="trouble" role="alert">
        {trouble.value}
      </p>
      <ModalFoot act={act} disabled={working.value} onCancel={onCancel} />
    </form>
  );
}

export function MakeFolder({ within }: { within: string }) {
  return (
    <Modal title={text.places.make} onClose={closeDialog}>
      <NameForm
        label={text.places.makeName}
        act={text.places.makeDo}
        refusal={(name) => refusalOf(within, name)}
        onCancel={closeDialog}
        onName={async (name) => {
          const path = joinPath(within, name);
          const own = dialog.peek();
          await makeFolder(path);
          // Somebody has opened another one since, perhaps another account.
          if (dialog.peek() !== own) return;
          closeDialog();
          goTo(path);
        }}
      />
    </Modal>
  );
}

export function Rename({ row }: { row: Row }) {
  const first = lastOf(row.path);
  const dot = first.lastIndexOf('.');
  return (
    <Modal title={text.rename.title} onClose={closeDialog}>
      <NameForm
        label={text.rename.label}
        act={text.rename.do}
        first={first}
        // Without its ending, which says what the file is.
        chosen={!isFolder(row) && dot > 0 ? dot : first.length}
        refusal={(name) => (name === first ? '' : refusalOf(parentOf(row.path), name))}
        onCancel={closeDialog}
        onName={async (name) => {
          closeDialog();
          if (name !== first) await rename(row, name);
        }}
      />
    </Modal>
  );
}
