/** Shares the current versions of files and folders, by a link or with an account. */
import { type Signal, useSignal } from '@preact/signals';
import { displayName } from '@szafa/client';
import { limits } from '@szafa/protocol';
import { useEffect, useMemo } from 'preact/hooks';
import type { ContactRow, LinkOptions, NewLink } from '../core/bridge/calls.ts';
import { call } from '../core/call.ts';
import { Button, Modal, ModalFoot } from '../core/controls/controls.tsx';
import { Choice, NoteField, NumberField } from '../core/controls/fields.tsx';
import { Field, Form, Secret, useForm } from '../core/controls/form.tsx';
import { bytes } from '../core/format.ts';
import { setTo } from '../core/signals.ts';
import { text } from '../core/text/index.ts';
import { closeDialog, dialog } from '../files/actions.ts';
import { filesOf, isFolder, type Row } from '../files/file-list.ts';
import { Fingerprint, MarkVerified } from './contacts.tsx';
import { CloseFoot, type Expiry, expiresIn, NewLinkView, noteOf } from './new-link.tsx';
import { here, words as sharing } from './text/index.ts';

const words = text.share;
const { give } = sharing;
const TITLE_NAMES = 3;
const NOTE_CHARS = 2_000;

/** Error codes that belong to the field with the username. */
const NAME_FAULTS = Object.fromEntries(
  ['no-contact', 'own-account', 'contact-changed', 'name', 'rule'].map((code) => [code, 'account']),
);

/** Pass `whole` only for the owner's own list: recipients must not see the full path. */
function titleOf(rows: readonly Row[], whole: boolean): string {
  if (rows.length === 1) return whole ? displayName(rows[0]!.path) : rows[0]!.name;
  const names = rows.slice(0, TITLE_NAMES).map(({ name }) => name);
  return `${names.join(', ')}${rows.length > TITLE_NAMES ? ', …' : ''}`;
}

/** Shows, after sharing with an account, which keys were used. */
function ShareDone({ contact }: { contact: Signal<ContactRow | null> }) {
  const { username, state, fingerprint } = contact.value!;
  return (
    <>
      <p>{give.done(username)}</p>
      <p>{give.later}</p>
      <p>{state === 'verified' ? give.verified(username) : give.first(username)}</p>
      {fingerprint !== undefined && <Fingerprint digits={fingerprint} />}
      {state === 'known' && (
        <>
          <p class="hint">{sharing.contacts.why}</p>
          <MarkVerified
            contact={contact.value!}
            onDone={(verified) => {
              contact.value = verified;
            }}
          />
        </>
      )}
      <CloseFoot onClose={closeDialog} />
    </>
  );
}

function KeysChanged({ username }: { username: string }) {
  return (
    <div class="received-why" role="alert">
      <p>{give.changed(username)}</p>
      <Button label={give.changedNext} onClick={setTo(dialog, { kind: 'contacts', username })} />
    </div>
  );
}

export function ShareDialog({ rows }: { rows: Row[] }) {
  const way = useSignal<'link' | 'account'>('link');
  const username = useSignal('');
  /** The username of the last attempt. The field may contain another one by now. */
  const tried = useSignal('');
  const contact = useSignal<ContactRow | null>(null);
  const expiry = useSignal<Expiry>('7');
  const downloads = useSignal('');
  const passphrase = useSignal('');
  const note = useSignal('');
  const made = useSignal<NewLink | null>(null);
  const id = useMemo(() => crypto.randomUUID(), []);
  useEffect(() => () => void call('stop', id), []);

  const byLink = way.value === 'link';
  const form = useForm(async () => {
    const options: LinkOptions = {
      title: titleOf(rows, byLink),
      ...noteOf(note.value),
      ...(byLink && passphrase.value !== '' && { passphrase: passphrase.value }),
      ...(expiry.value !== 'never' && { expiresAt: expiresIn(expiry.value) }),
      ...(downloads.value !== '' && { downloads: Number(downloads.value) }),
    };
    const paths = rows.map((row) => (isFolder(row) ? `${row.path}/` : row.path));
    tried.value = username.value.trim();
    if (byLink) made.value = await call('makeLink', id, paths, options);
    else contact.value = await call('shareWith', id, paths, tried.value, options);
  });
  const isBusy = form.working.value;
  const title = made.value ? words.made : contact.value ? give.made(contact.value.username) : words.title;
  const act = byLink ? [words.make, words.making] : [give.do, give.doing];

  const files = filesOf(rows);
  const size = files.reduce((sum, file) => sum + file.size, 0);
  return (
    <Modal title={title} class="share" onClose={closeDialog}>
      <p>
        <bdi>{titleOf(rows, true)}</bdi> · {text.list.count(files.length)}, {bytes(size)}
      </p>
      {made.value ? (
        <NewLinkView made={made.value} what={words.anyone} onClose={closeDialog}>
          <p>{words.later}</p>
          <p class="hint">{sharing.linkTrust}</p>
        </NewLinkView>
      ) : contact.value ? (
        <ShareDone contact={contact} />
      ) : (
        <Form
          form={form}
          label={words.title}
          here={{ ...here(), 'contact-changed': '', 403: words.off, 409: words.tooMuch }}
          fields={NAME_FAULTS}
        >
          <Choice name="way" label={give.to} chosen={way} options={give.ways} />
          <p>{byLink ? words.what : give.what}</p>
          {!byLink && (
            <Field
              label={give.name}
              hint={give.nameHint}
              name="account"
              autocomplete="off"
              max={64}
              value={username}
            />
          )}
          {form.trouble.value?.code === 'contact-changed' && <KeysChanged username={tried.value} />}
          <Choice name="ends" label={words.expires} chosen={expiry} options={words.expiry} />
          <NumberField
            id="downloads"
            label={words.downloads}
            hint={words.downloadsHint}
            placeholder={words.unlimited}
            value={downloads}
            min={1}
            max={limits.shareDownloads}
          />
          {byLink && (
            <Secret
              label={words.passphrase}
              hint={words.passphraseHint}
              name="passphrase"
              autocomplete="off"
              optional
              value={passphrase}
            />
          )}
          <NoteField label={words.note} max={NOTE_CHARS} value={note} />
          <ModalFoot act={act[Number(isBusy)]!} isBusy={isBusy} onCancel={closeDialog} />
        </Form>
      )}
    </Modal>
  );
}
