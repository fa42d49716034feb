/** Makes a link of files and folders, as they are now, and shows it. */
import { useSignal } from '@preact/signals';
import { displayName } from '@szafa/client';
import { limits } from '@szafa/protocol';
import { useEffect, useMemo } from 'preact/hooks';
import type { LinkWishes, MadeLink } from '../bridge.ts';
import { closeDialog } from '../page/actions.ts';
import { call } from '../page/core.ts';
import { bytes } from '../page/format.ts';
import { copyLink } from '../page/links.ts';
import { filesOf, isFolder, type Row } from '../page/shelf.ts';
import { text } from '../text.ts';
import { Modal } from './controls.tsx';
import { Secret, Trouble, useForm } from './form.tsx';
import { Icon } from './icon.tsx';
import { QrCode } from './qr-code.tsx';
import { Choice } from './settings.tsx';

const words = text.share;
const DAY_MS = 86_400_000;
/** Of the name in the owner's list, and of the note. */
const TITLE_NAMES = 3;
const NOTE_CHARS = 2_000;

type Ends = '1' | '7' | '30' | '365' | 'never';

function titleOf(rows: readonly Row[]): string {
  if (rows.length === 1) return displayName(rows[0]!.path);
  const names = rows.slice(0, TITLE_NAMES).map(({ name }) => name);
  return `${names.join(', ')}${rows.length > TITLE_NAMES ? ', …' : ''}`;
}

function Made({ made }: { made: MadeLink }) {
  return (
    <>
      <p>{words.whoever}</p>
      <code class="shared-link">{made.link}</code>
      <button type="button" class="button primary wide" onClick={() => void copyLink(made.link)}>
        <Icon name="copy" />
        {words.copy}
      </button>
      <QrCode modules={made.picture} label={words.picture} />
      <p>{words.later}</p>
      <p class="hint">{words.honest}</p>
      <footer class="modal-foot">
        <button type="button" class="button" onClick={closeDialog}>
          {text.actions.close}
        </button>
      </footer>
    </>
  );
}

export function ShareDialog({ rows }: { rows: Row[] }) {
  const ends = useSignal<Ends>('7');
  const downloads = useSignal('');
  const passphrase = useSignal('');
  const eye = useSignal(false);
  const note = useSignal('');
  const made = useSignal<MadeLink | null>(null);
  const id = useMemo(() => crypto.randomUUID(), []);
  useEffect(() => () => void call('stop', id), []);

  const form = useForm(async () => {
    const wishes: LinkWishes = {
      title: titleOf(rows),
      ...(note.value.trim() !== '' && { note: note.value.trim() }),
      ...(passphrase.value !== '' && { passphrase: passphrase.value }),
      ...(ends.value !== 'never' && { expiresAt: Date.now() + Number(ends.value) * DAY_MS }),
      ...(downloads.value !== '' && { downloads: Number(downloads.value) }),
    };
    const paths = rows.map((row) => (isFolder(row) ? `${row.path}/` : row.path));
    made.value = await call('makeLink', id, paths, wishes);
  });

  const files = filesOf(rows);
  const size = files.reduce((sum, file) => sum + file.size, 0);
  return (
    <Modal title={made.value ? words.made : words.title} class="share" onClose={closeDialog}>
      <p>
        <bdi>{titleOf(rows)}</bdi> · {text.list.count(files.length)}, {bytes(size)}
      </p>
      {made.value ? (
        <Made made={made.value} />
      ) : (
        <form onSubmit={form.submit} aria-label={words.title}>
          <p>{words.what}</p>
          <Choice name="ends" label={words.ends} chosen={ends} options={words.ended} />
          <div class="field">
            <label for="downloads">{words.downloads}</label>
            <input
              id="downloads"
              type="number"
              inputMode="numeric"
              min={1}
              max={limits.shareDownloads}
              step={1}
              value={downloads.value}
              placeholder={words.any}
              aria-describedby="downloads-hint"
              onInput={(event) => {
                downloads.value = event.currentTarget.value;
              }}
            />
            <small id="downloads-hint" class="hint">
              {words.downloadsHint}
            </small>
          </div>
          <Secret
            label={words.passphrase}
            hint={words.passphraseHint}
            name="passphrase"
            autocomplete="off"
            optional
            value={passphrase}
            shown={eye}
          />
          <div class="field">
            <label for="note">{words.note}</label>
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
          <Trouble form={form} here={{ 403: words.off, 409: words.tooMuch }} />
          <footer class="modal-foot">
            <button type="button" class="button" onClick={closeDialog}>
              {text.actions.cancel}
            </button>
            <button type="submit" class="button primary" disabled={form.working.value}>
              {form.working.value ? words.making : words.make}
            </button>
          </footer>
        </form>
      )}
    </Modal>
  );
}
