/** Shares files and folders, as they are now: by a link, which is shown, or with an account. */
import { type Signal, useSignal } from '@preact/signals';
import { displayName } from '@szafa/client';
import { limits } from '@szafa/protocol';
import { useEffect, useMemo } from 'preact/hooks';
import type { MadeLink as Link, LinkWishes, ListedContact } from '../core/bridge/calls.ts';
import { call } from '../core/call.ts';
import { Modal, ModalFoot } from '../core/controls/controls.tsx';
import { Field, Form, Secret, useForm } from '../core/controls/form.tsx';
import { bytes } from '../core/format.ts';
import { text } from '../core/text/index.ts';
import { closeDialog, dialog } from '../files/actions.ts';
import { filesOf, isFolder, type Row } from '../files/file-list.ts';
import { Choice } from '../page/settings.tsx';
import { Compared, Fingerprint } from './contacts.tsx';
import { MadeLink } from './made-link.tsx';
import { here, words as sharing } from './text/index.ts';

const words = text.share;
const { give } = sharing;
const DAY_MS = 86_400_000;
/** Of the name in the owner's list, and of the note. */
const TITLE_NAMES = 3;
const NOTE_CHARS = 2_000;

/** What is about the name of the account. */
const NAME_FAULTS = Object.fromEntries(
  ['no-contact', 'own-account', 'contact-changed', 'name', 'rule'].map((code) => [code, 'account']),
);

type Ends = '1' | '7' | '30' | '365' | 'never';

/** Of one, the whole path: in a list of its owner's own, and nowhere else. */
function titleOf(rows: readonly Row[], whole: boolean): string {
  if (rows.length === 1) return whole ? displayName(rows[0]!.path) : rows[0]!.name;
  const names = rows.slice(0, TITLE_NAMES).map(({ name }) => name);
  return `${names.join(', ')}${rows.length > TITLE_NAMES ? ', …' : ''}`;
}

function Made({ made }: { made: Link }) {
  return (
    <>
      <p>{words.whoever}</p>
      <MadeLink made={made} />
      <p>{words.later}</p>
      <p class="hint">{sharing.linkHonest}</p>
      <footer class="modal-foot">
        <button type="button" class="button" onClick={closeDialog}>
          {text.actions.close}
        </button>
      </footer>
    </>
  );
}

/** It is with an account: whose keys those are. */
function Given({ given }: { given: Signal<ListedContact | null> }) {
  const { username, state, fingerprint } = given.value!;
  return (
    <>
      <p>{give.done(username)}</p>
      <p>{give.later}</p>
      <p>{state === 'verified' ? give.compared(username) : give.first(username)}</p>
      {fingerprint !== undefined && <Fingerprint digits={fingerprint} />}
      {state === 'known' && (
        <>
          <p class="hint">{sharing.contacts.why}</p>
          <Compared
            contact={given.value!}
            onDone={(contact) => {
              given.value = contact;
            }}
          />
        </>
      )}
      <footer class="modal-foot">
        <button type="button" class="button" onClick={closeDialog}>
          {text.actions.close}
        </button>
      </footer>
    </>
  );
}

/** Its keys are not those of before: what that means, and where to go. Beside the field with its name. */
function Changed({ username }: { username: string }) {
  return (
    <div class="received-why" role="alert">
      <p>{give.changed(username)}</p>
      <button
        type="button"
        class="button"
        onClick={() => {
          dialog.value = { kind: 'contacts', of: username };
        }}
      >
        {give.changedNext}
      </button>
    </div>
  );
}

export function ShareDialog({ rows }: { rows: Row[] }) {
  const way = useSignal<'link' | 'account'>('link');
  const username = useSignal('');
  /** Whom the last try was for: the field may hold another name by now. */
  const tried = useSignal('');
  const given = useSignal<ListedContact | null>(null);
  const ends = useSignal<Ends>('7');
  const downloads = useSignal('');
  const passphrase = useSignal('');
  const eye = useSignal(false);
  const note = useSignal('');
  const made = useSignal<Link | null>(null);
  const id = useMemo(() => crypto.randomUUID(), []);
  useEffect(() => () => void call('stop', id), []);

  const form = useForm(async () => {
    const byLink = way.value === 'link';
    const wishes: LinkWishes = {
      title: titleOf(rows, byLink),
      ...(note.value.trim() !== '' && { note: note.value.trim() }),
      ...(byLink && passphrase.value !== '' && { passphrase: passphrase.value }),
      ...(ends.value !== 'never' && { expiresAt: Date.now() + Number(ends.value) * DAY_MS }),
      ...(downloads.value !== '' && { downloads: Number(downloads.value) }),
    };
    const paths = rows.map((row) => (isFolder(row) ? `${row.path}/` : row.path));
    tried.value = username.value.trim();
    if (byLink) made.value = await call('makeLink', id, paths, wishes);
    else given.value = await call('shareWith', id, paths, tried.value, wishes);
  });
  const isBusy = form.working.value;
  const changed = form.trouble.value?.code === 'contact-changed';
  const title = made.value ? words.made : given.value ? give.made(given.value.username) : words.title;

  const files = filesOf(rows);
  const size = files.reduce((sum, file) => sum + file.size, 0);
  return (
    <Modal title={title} class="share" onClose={closeDialog}>
      <p>
        <bdi>{titleOf(rows, true)}</bdi> · {text.list.count(files.length)}, {bytes(size)}
      </p>
      {made.value ? (
        <Made made={made.value} />
      ) : given.value ? (
        <Given given={given} />
      ) : (
        <Form
          form={form}
          label={words.title}
          here={{ ...here(), 'contact-changed': '', 403: words.off, 409: words.tooMuch }}
          fields={NAME_FAULTS}
        >
          <Choice name="way" label={give.to} chosen={way} options={give.ways} />
          <p>{way.value === 'link' ? words.what : give.what}</p>
          {way.value === 'account' && (
            <Field
              label={give.name}
              hint={give.nameHint}
              name="account"
              autocomplete="off"
              max={64}
              value={username}
            />
          )}
          {changed && <Changed username={tried.value} />}
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
          {way.value === 'link' && (
            <Secret
              label={words.passphrase}
              hint={words.passphraseHint}
              name="passphrase"
              autocomplete="off"
              optional
              value={passphrase}
              shown={eye}
            />
          )}
          <div class="field">
            <label for="note">{way.value === 'link' ? words.note : give.note}</label>
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
            act={way.value === 'link' ? (isBusy ? words.making : words.make) : isBusy ? give.doing : give.do}
            isBusy={isBusy}
            onCancel={closeDialog}
          />
        </Form>
      )}
    </Modal>
  );
}
