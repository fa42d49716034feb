/** Fingerprints: one's own, to be read out, and those of others, to be compared. Keys that are not those of before are accepted here, and only here. */
import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { requireStill, Said } from '../accounts/fold.tsx';
import { account } from '../accounts/session.ts';
import type { Fault, ListedContact } from '../core/bridge/calls.ts';
import { call, faultOf } from '../core/call.ts';
import { Modal, Spinner } from '../core/controls/controls.tsx';
import { FormTrouble, Trouble } from '../core/controls/faults.tsx';
import { Field, Form, Submit, useForm } from '../core/controls/form.tsx';
import { text } from '../core/text/index.ts';
import { closeDialog } from '../files/actions.ts';
import { readReceived } from './received.ts';
import { here, words } from './text/index.ts';

const said = words.contacts;
/** As people type it: with blanks. */
const TYPED_CHARS = 200;
/** Where the name of an account was typed. */
const NO_ACCOUNT = { 'no-contact': 'contact', 'own-account': 'contact', name: 'contact', rule: 'contact' };

export function Fingerprint({ digits }: { digits: string }) {
  return <code class="fingerprint">{digits}</code>;
}

interface CompareProps {
  contact: ListedContact;
  onDone(contact: ListedContact): void;
}

/** What was asked for is done, and the form goes: if the focus is in it, or was in its button, the keyboard goes on where it was. */
function useDone(onDone: CompareProps['onDone']) {
  const place = useRef<HTMLDivElement>(null);
  const done: CompareProps['onDone'] = (contact) => {
    const form = place.current;
    const around = form?.parentElement;
    const focused = document.activeElement;
    const isLost = focused === null || focused === document.body || form?.contains(focused);
    onDone(contact);
    // The dialog was closed meanwhile, or somebody types elsewhere by now.
    if (!around || !isLost) return;
    around.tabIndex = -1;
    around.focus();
  };
  return { place, done };
}

/** The button of somebody who has compared a fingerprint that is shown. */
export function Compared({ contact, onDone }: CompareProps) {
  const { username } = contact;
  const { place, done } = useDone(onDone);
  const form = useForm(async () => done(await call('verifyContact', username)));
  return (
    <div ref={place}>
      <Form form={form} label={said.sameOf(username)} here={here()}>
        <FormTrouble />
        <Submit form={form} class="" name={said.sameOf(username)} label={said.same} />
      </Form>
    </div>
  );
}

/** For keys that are not those of before: what their owner says has to be what they are. */
function Renew({ contact: { username }, onDone }: CompareProps) {
  const typed = useSignal('');
  const { place, done } = useDone(onDone);
  const form = useForm(async () => done(await call('acceptContact', username, typed.value)));
  const field = `fingerprint-${username}`;
  const fields = { fingerprint: field, 'other-fingerprint': field };
  return (
    <div ref={place}>
      <Form form={form} label={said.renew(username)} here={here()} fields={fields}>
        <p class="danger-words">{said.renewWhy(username)}</p>
        <p>{said.renewHow(username)}</p>
        <Field
          label={said.typed(username)}
          hint={said.typedHint}
          name={field}
          autocomplete="off"
          max={TYPED_CHARS}
          value={typed}
        />
        <FormTrouble />
        <Submit form={form} class="danger" label={said.accept} />
      </Form>
    </div>
  );
}

const BADGES = {
  known: ['', 'notCompared'],
  verified: ['own', 'compared'],
  changed: ['bad', 'changed'],
} as const;

function Line({ contact, onDone }: CompareProps) {
  const { username, state, fingerprint } = contact;
  const [look, badge] = BADGES[state];
  return (
    <li>
      <div class="device-words">
        <bdi>{username}</bdi>
        <span class={`badge ${look}`}>{said[badge]}</span>
        {fingerprint !== undefined && <Fingerprint digits={fingerprint} />}
        {state === 'known' && <Compared contact={contact} onDone={onDone} />}
        {state === 'changed' && <Renew contact={contact} onDone={onDone} />}
      </div>
    </li>
  );
}

function Find({ onFound }: { onFound(contact: ListedContact): void }) {
  const name = useSignal('');
  const form = useForm(async () => {
    onFound(await call('contact', name.value));
    name.value = '';
  });
  return (
    <Form form={form} label={said.look} here={here()} fields={NO_ACCOUNT}>
      <Field label={said.find} name="contact" autocomplete="off" max={64} value={name} />
      <FormTrouble />
      <Submit form={form} class="" label={said.look} />
    </Form>
  );
}

/** Each once, with what was found out last. */
function withOne(all: Signal<ListedContact[] | null>, contact: ListedContact): void {
  const others = (all.value ?? []).filter(({ username }) => username !== contact.username);
  all.value = [contact, ...others];
}

/** `of`: whose keys somebody wants to see. */
export function Contacts({ of }: { of?: string | undefined }) {
  const own = useSignal('');
  const all = useSignal<ListedContact[] | null>(null);
  const trouble = useSignal<Fault | null>(null);
  const news = useSignal('');
  const read = async () => {
    const who = account.peek()!;
    try {
      own.value = await call('ownFingerprint');
      all.value = await call('contacts');
      requireStill(who);
      if (of !== undefined) withOne(all, await call('contact', of));
    } catch (error) {
      trouble.value = faultOf(error);
    }
  };
  useEffect(() => void read(), []);
  const onDone = (before: ListedContact) => (contact: ListedContact) => {
    withOne(all, contact);
    news.value = (before.state === 'changed' ? said.accepted : said.nowCompared)(contact.username);
    void readReceived();
  };
  return (
    <Modal title={said.title} class="account" onClose={closeDialog}>
      <Trouble fault={trouble.value} here={here()} />
      {!all.value && !trouble.value && <Spinner label={text.account.loading} />}
      {own.value && (
        <section>
          <h3>{said.own}</h3>
          <Fingerprint digits={own.value} />
          <p class="hint">{said.ownHint}</p>
        </section>
      )}
      {all.value && (
        <section>
          <h3>{said.others}</h3>
          <p>{said.why}</p>
          <Said news={news} />
          {all.value.length === 0 && <p class="hint">{said.none}</p>}
          <ul class="devices" aria-label={said.others}>
            {all.value.map((contact) => (
              <Line key={contact.username} contact={contact} onDone={onDone(contact)} />
            ))}
          </ul>
          <p class="hint">{said.remembered}</p>
        </section>
      )}
      {all.value && (
        <section>
          <Find
            onFound={(contact) => {
              news.value = '';
              withOne(all, contact);
            }}
          />
        </section>
      )}
    </Modal>
  );
}
