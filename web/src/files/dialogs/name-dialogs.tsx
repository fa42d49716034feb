/** Dialogs that ask for a name: of a new folder, or a new name for a file or folder. */
import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Modal, ModalFoot } from '../../core/controls/controls.tsx';
import { Field, Form, refuse, useForm } from '../../core/controls/form.tsx';
import { text } from '../../core/text/index.ts';
import { joinPath, lastOf, parentOf } from '../../core/tree.ts';
import { closeDialog, dialog } from '../actions.ts';
import { goTo, isFolder, type Row } from '../file-list.ts';
import { makeFolder, nameProblem, rename } from '../operations.ts';

/** Longer than any name the server accepts, so that the server and not the field rejects a long name. */
const NAME_CHARS = 4_096;

interface NameFormProps {
  label: string;
  act: string;
  first?: string;
  /** Number of leading characters of `first` that are selected, ready to be typed over. */
  chosen?: number;
  /** Returns why a name is not allowed, or ''. */
  refusal(name: string): string;
  onCancel(): void;
  onName(name: string): Promise<void>;
}

export function NameForm({ label, act, first = '', chosen = 0, refusal, onCancel, onName }: NameFormProps) {
  const name = useSignal(first);
  const place = useRef<HTMLDivElement>(null);
  const form = useForm(async () => {
    const wish = name.value.trim();
    const why = refusal(wish);
    if (why !== '') refuse(why, 'name');
    await onName(wish);
  });
  useLayoutEffect(() => {
    const field = place.current!.querySelector('input')!;
    field.focus();
    field.setSelectionRange(0, chosen);
  }, []);
  return (
    <div ref={place}>
      <Form form={form} label={act}>
        <Field
          label={label}
          name="name"
          autocomplete="off"
          max={NAME_CHARS}
          value={name}
          optional
          autoFocus
        />
        <ModalFoot act={act} isBusy={form.working.value} onCancel={onCancel} />
      </Form>
    </div>
  );
}

export function MakeFolder({ within }: { within: string }) {
  return (
    <Modal title={text.places.make} onClose={closeDialog}>
      <NameForm
        label={text.places.makeName}
        act={text.places.makeDo}
        refusal={(name) => nameProblem(within, name)}
        onCancel={closeDialog}
        onName={async (name) => {
          const path = joinPath(within, name);
          const own = dialog.peek();
          await makeFolder(path);
          // The user may have opened another dialog since, or signed in to another account.
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
        // Select the name without its extension.
        chosen={!isFolder(row) && dot > 0 ? dot : first.length}
        refusal={(name) => (name === first ? '' : nameProblem(parentOf(row.path), name))}
        onCancel={closeDialog}
        onName={async (name) => {
          closeDialog();
          if (name !== first) await rename(row, name);
        }}
      />
    </Modal>
  );
}
