/** Makes a link by which others send files, and shows it. */
import { useSignal } from '@preact/signals';
import { displayName } from '@szafa/client';
import { limits } from '@szafa/protocol';
import type { MadeLink as Link } from '../core/bridge/calls.ts';
import { call } from '../core/call.ts';
import { Modal, ModalFoot } from '../core/controls/controls.tsx';
import { Form, useForm } from '../core/controls/form.tsx';
import { Icon } from '../core/controls/icon.tsx';
import { text } from '../core/text/index.ts';
import { FolderPicker } from '../files/dialogs/choose-folder.tsx';
import { Choice } from '../page/settings.tsx';
import { MadeLink } from './made-link.tsx';
import { readAsked } from './requests.ts';
import { words } from './text/index.ts';

const said = words.asks;
const DAY_MS = 86_400_000;
const GIB = 2 ** 30;
/** As the command has them. */
const USUAL = { files: '100', size: '10' };
const MOST_GIB = 10_000;
const NOTE_CHARS = 700;

function Made({ made, onClose }: { made: Link; onClose(): void }) {
  return (
    <Modal title={said.made} class="share" onClose={onClose}>
      <p>{said.whoever}</p>
      <MadeLink made={made} />
      <p class="hint">{said.honest}</p>
      <footer class="modal-foot">
        <button type="button" class="button" onClick={onClose}>
          {text.actions.close}
        </button>
      </footer>
    </Modal>
  );
}

interface NumberFieldProps {
  id: string;
  label: string;
  value: { value: string };
  min: number;
  max: number;
  step: number | 'any';
}

function NumberField({ id, label, value, min, max, step }: NumberFieldProps) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="number"
        inputMode="decimal"
        required
        min={min}
        max={max}
        step={step}
        value={value.value}
        onInput={(event) => {
          value.value = event.currentTarget.value;
        }}
      />
    </div>
  );
}

export function RequestDialog({ onClose }: { onClose(): void }) {
  const folder = useSignal('');
  const choosing = useSignal(false);
  const ends = useSignal<'1' | '7' | '30' | '365'>('7');
  const files = useSignal(USUAL.files);
  const size = useSignal(USUAL.size);
  const note = useSignal('');
  const made = useSignal<Link | null>(null);
  const form = useForm(async () => {
    made.value = await call('makeRequest', {
      folder: folder.value,
      files: Number(files.value),
      size: Math.round(Number(size.value) * GIB),
      expiresAt: Date.now() + Number(ends.value) * DAY_MS,
      ...(note.value.trim() !== '' && { note: note.value.trim() }),
    });
    await readAsked();
  });
  if (made.value) return <Made made={made.value} onClose={onClose} />;
  if (choosing.value) {
    return (
      <FolderPicker
        title={said.where}
        home={folder.value}
        act={said.choose}
        onClose={() => {
          choosing.value = false;
        }}
        onChoose={(path) => {
          folder.value = path;
          choosing.value = false;
        }}
      />
    );
  }
  const { never: _, ...terms } = text.share.ended;
  return (
    <Modal title={said.ask} class="share" onClose={onClose}>
      <Form form={form} label={said.ask} here={{ 403: text.share.off, 409: said.tooMany }}>
        <p>{said.what}</p>
        <div class="field">
          <span id="request-folder">{said.where}</span>
          <button
            type="button"
            class="button"
            aria-describedby="request-folder"
            onClick={() => {
              choosing.value = true;
            }}
          >
            <Icon name="folder" />
            <bdi>{displayName(folder.value) || text.places.all}</bdi>
          </button>
        </div>
        <Choice name="ends" label={text.share.ends} chosen={ends} options={terms} />
        <NumberField
          id="request-files"
          label={said.most}
          value={files}
          min={1}
          max={limits.requestFiles}
          step={1}
        />
        <NumberField id="request-size" label={said.size} value={size} min={0.001} max={MOST_GIB} step="any" />
        <div class="field">
          <label for="note">{said.note}</label>
          <textarea
            id="note"
            rows={2}
            maxLength={NOTE_CHARS}
            value={note.value}
            onInput={(event) => {
              note.value = event.currentTarget.value;
            }}
          />
        </div>
        <ModalFoot
          act={form.working.value ? text.share.making : text.share.make}
          isBusy={form.working.value}
          onCancel={onClose}
        />
      </Form>
    </Modal>
  );
}
