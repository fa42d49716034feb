/** Shows the account's own fingerprint and those of contacts. Changed keys can be accepted only here. */
import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { requireSignedIn, StatusLine } from '../accounts/fold.tsx';
import { account } from '../accounts/session.ts';
import type { ContactRow } from '../core/bridge/calls.ts';
import type { Fault } from '../core/bridge/messages.ts';
import { call, faultOf } from '../core/call.ts';
import { Modal, Spinner } from '../core/controls/controls.tsx';
import { FormTrouble, Trouble } from '../core/controls/faults.tsx';
import { Field, Form, Submit, useForm } from '../core/controls/form.tsx';
import { ListRow } from '../core/controls/list-row.tsx';
import { text } from '../core/text/index.ts';
import { closeDialog } from '../files/actions.ts';
import { received } from './received.ts';
import { here, words as sharing } from './text/index.ts';

const words = sharing.contacts;
/** Enough for a fingerprint typed with spaces. */
const TYPED_CHARS = 200;
const NAME_FAULTS = { 'no-contact': 'contact', 'own-account': 'contact', name: 'contact', rule: 'contact' };

export function Fingerprint({ digits }: { digits: string }) {
  return <code class="fingerprint">{digits}</code>;
}

interface ContactFormProps {
  contact: ContactRow;
  onDone(contact: ContactRow): void;
}

/** The form disappears when it is done. If it had the focus, the focus moves to the element around it. */
function useDone(onDone: ContactFormProps['onDone']) {
  const place = useRef<HTMLDivElement>(null);
  const done: ContactFormProps['onDone'] = (contact) => {
    const form = place.current;
    const around = form?.parentElement;
    const focused = document.activeElement;
    const isLost = focused === null || focused === document.body || form?.contains(focused);
    onDone(contact);
    // Leave the focus alone if the dialog was closed, or if the user is typing elsewhere by now.
    if (!around || !isLost) return;
    around.tabIndex = -1;
    around.focus();
  };
  return { place, done };
}

export function MarkVerified({ contact, onDone }: ContactFormProps) {
  const { username } = contact;
  const { place, done } = useDone(onDone);
  const form = useForm(async () => done(await call('verifyContact', username)));
  return (
    <div ref={place}>
      <Form form={form} label={words.verifyOf(username)} here={here()}>
        <FormTrouble />
        <Submit form={form} class="" name={words.verifyOf(username)} label={words.verify} />
      </Form>
    </div>
  );
}

/** Accepts changed keys if the user enters their fingerprint, as the owner reads it out. */
function AcceptKeys({ contact: { username }, onDone }: ContactFormProps) {
  const typed = useSignal('');
  const { place, done } = useDone(onDone);
  const form = useForm(async () => done(await call('acceptContact', username, typed.value)));
  const field = `fingerprint-${username}`;
  const fields = { fingerprint: field, 'other-fingerprint': field };
  return (
    <div ref={place}>
      <Form form={form} label={words.acceptOf(username)} here={here()} fields={fields}>
        <p class="danger-words">{words.acceptWhy(username)}</p>
        <p>{words.acceptHow(username)}</p>
        <Field
          label={words.typed(username)}
          hint={words.typedHint}
          name={field}
          autocomplete="off"
          max={TYPED_CHARS}
          value={typed}
        />
        <FormTrouble />
        <Submit form={form} class="danger" label={words.accept} />
      </Form>
    </div>
  );
}

const BADGES = {
  known: ['', 'notVerified'],
  verified: ['own', 'verified'],
  changed: ['bad', 'changed'],
} as const;

function Row({ contact, onDone }: ContactFormProps) {
  const { username, state, fingerprint } = contact;
  const [look, badge] = BADGES[state];
  return (
    <ListRow
      name={username}
      badges={<span class={`badge ${look}`}>{words[badge]}</span>}
      details={
        <>
          {fingerprint !== undefined && <Fingerprint digits={fingerprint} />}
          {state === 'known' && <MarkVerified contact={contact} onDone={onDone} />}
          {state === 'changed' && <AcceptKeys contact={contact} onDone={onDone} />}
        </>
      }
    />
  );
}

function FindContact({ onFound }: { onFound(contact: ContactRow): void }) {
  const name = useSignal('');
  const form = useForm(async () => {
    onFound(await call('contact', name.value));
    name.value = '';
  });
  return (
    <Form form={form} label={words.find} here={here()} fields={NAME_FAULTS}>
      <Field label={words.name} name="contact" autocomplete="off" max={64} value={name} />
      <FormTrouble />
      <Submit form={form} class="" label={words.find} />
    </Form>
  );
}

/** Puts a contact first, and replaces its previous row. */
function putFirst(all: Signal<ContactRow[] | null>, contact: ContactRow): void {
  const others = (all.value ?? []).filter(({ username }) => username !== contact.username);
  all.value = [contact, ...others];
}

/** `username` is the contact to look up and show first. */
export function Contacts({ username }: { username?: string | undefined }) {
  const own = useSignal('');
  const all = useSignal<ContactRow[] | null>(null);
  const trouble = useSignal<Fault | null>(null);
  const news = useSignal('');
  const read = async () => {
    const who = account.peek()!;
    try {
      own.value = await call('ownFingerprint');
      all.value = await call('contacts');
      requireSignedIn(who);
      if (username !== undefined) putFirst(all, await call('contact', username));
    } catch (error) {
      trouble.value = faultOf(error);
    }
  };
  useEffect(() => void read(), []);
  const onDone = (before: ContactRow) => (contact: ContactRow) => {
    putFirst(all, contact);
    news.value = (before.state === 'changed' ? words.accepted : words.nowVerified)(contact.username);
    void received.read();
  };
  return (
    <Modal title={words.title} class="account" onClose={closeDialog}>
      <Trouble fault={trouble.value} here={here()} />
      {!all.value && !trouble.value && <Spinner label={text.account.loading} />}
      {own.value && (
        <section>
          <h3>{words.own}</h3>
          <Fingerprint digits={own.value} />
          <p class="hint">{words.ownHint}</p>
        </section>
      )}
      {all.value && (
        <>
          <section>
            <h3>{words.others}</h3>
            <p>{words.why}</p>
            <StatusLine news={news} />
            {all.value.length === 0 && <p class="hint">{words.none}</p>}
            <ul class="devices" aria-label={words.others}>
              {all.value.map((contact) => (
                <Row key={contact.username} contact={contact} onDone={onDone(contact)} />
              ))}
            </ul>
            <p class="hint">{words.remembered}</p>
          </section>
          <section>
            <FindContact
              onFound={(contact) => {
                news.value = '';
                putFirst(all, contact);
              }}
            />
          </section>
        </>
      )}
    </Modal>
  );
}
