/** Creates and shows a link that others can use to send files. */
import { useSignal } from '@preact/signals';
import { displayName } from '@szafa/client';
import { limits } from '@szafa/protocol';
import type { NewLink } from '../core/bridge/calls.ts';
import { call } from '../core/call.ts';
import { Button, Modal, ModalFoot } from '../core/controls/controls.tsx';
import { Choice, NoteField, NumberField } from '../core/controls/fields.tsx';
import { Form, useForm } from '../core/controls/form.tsx';
import { setTo } from '../core/signals.ts';
import { text } from '../core/text/index.ts';
import { FolderPicker } from '../files/dialogs/choose-folder.tsx';
import { type Expiry, expiresIn, NewLinkView, noteOf } from './new-link.tsx';
import { requests } from './requests.ts';
import { words as sharing } from './text/index.ts';

const words = sharing.requests;
const GIB = 2 ** 30;
/** The same defaults as in the CLI. */
const DEFAULTS = { files: '100', size: '10' };
const MOST_GIB = 10_000;
const NOTE_CHARS = 700;

export function RequestDialog({ onClose }: { onClose(): void }) {
  const folder = useSignal('');
  const choosing = useSignal(false);
  const expiry = useSignal<Exclude<Expiry, 'never'>>('7');
  const files = useSignal(DEFAULTS.files);
  const size = useSignal(DEFAULTS.size);
  const note = useSignal('');
  const made = useSignal<NewLink | null>(null);
  const form = useForm(async () => {
    made.value = await call('makeRequest', {
      folder: folder.value,
      files: Number(files.value),
      size: Math.round(Number(size.value) * GIB),
      expiresAt: expiresIn(expiry.value),
      ...noteOf(note.value),
    });
    await requests.read();
  });
  if (made.value) {
    return (
      <Modal title={words.made} class="share" onClose={onClose}>
        <NewLinkView made={made.value} what={words.anyone} onClose={onClose}>
          <p class="hint">{words.trust}</p>
        </NewLinkView>
      </Modal>
    );
  }
  if (choosing.value) {
    return (
      <FolderPicker
        title={words.folder}
        home={folder.value}
        act={words.choose}
        onClose={setTo(choosing, false)}
        onChoose={(path) => {
          folder.value = path;
          choosing.value = false;
        }}
      />
    );
  }
  const { never: _, ...terms } = text.share.expiry;
  return (
    <Modal title={words.do} class="share" onClose={onClose}>
      <Form form={form} label={words.do} here={{ 403: text.share.off, 409: words.tooMany }}>
        <p>{words.what}</p>
        <div class="field">
          <span id="request-folder">{words.folder}</span>
          <Button
            icon="folder"
            label={<bdi>{displayName(folder.value) || text.places.all}</bdi>}
            describedBy="request-folder"
            onClick={setTo(choosing, true)}
          />
        </div>
        <Choice name="ends" label={text.share.expires} chosen={expiry} options={terms} />
        <NumberField
          id="request-files"
          label={words.mostFiles}
          value={files}
          min={1}
          max={limits.requestFiles}
        />
        <NumberField
          id="request-size"
          label={words.mostBytes}
          value={size}
          min={0.001}
          max={MOST_GIB}
          step="any"
        />
        <NoteField label={text.share.note} max={NOTE_CHARS} value={note} />
        <ModalFoot
          act={form.working.value ? text.share.making : text.share.make}
          isBusy={form.working.value}
          onCancel={onClose}
        />
      </Form>
    </Modal>
  );
}
