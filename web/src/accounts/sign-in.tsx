/** Forms to sign in, to sign up, and to recover an account with its recovery key. */

import { type Signal, useSignal } from '@preact/signals';
import type { Second } from '@szafa/client';
import { limits } from '@szafa/protocol';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { Fault } from '../core/bridge/messages.ts';
import { call, faultOf } from '../core/call.ts';
import { Button } from '../core/controls/controls.tsx';
import { FieldFault, FormTrouble, useFieldFault } from '../core/controls/faults.tsx';
import { Code, Field, Form, Secret, Submit, useForm } from '../core/controls/form.tsx';
import { Icon } from '../core/controls/icon.tsx';
import { boundTo, setTo, writeTo } from '../core/signals.ts';
import { text } from '../core/text/index.ts';
import { NewPassword, requireGoodPassword } from './new-password.tsx';
import { confirmPasskey } from './passkeys.ts';
import { login, loginWithPasskey, recover, register, signOutReason } from './session.ts';
import { SignInLayout } from './sign-in-layout.tsx';

type How = 'login' | 'register' | 'recover';
const words = text.enter;

function Username({ value, hint }: { value: Signal<string>; hint?: string }) {
  return (
    <Field
      label={words.username}
      hint={hint}
      name="username"
      autocomplete="username"
      max={limits.usernameChars.max}
      value={value}
    />
  );
}

/** Values that are kept when the user switches between the forms. */
interface FormPageProps {
  username: Signal<string>;
  invite: Signal<string>;
}

/** Suggests lower case: names are case-sensitive, but people and phones like to capitalize the first letter. */
function wrongWords(typed: string): string {
  const small = typed.trim().toLowerCase();
  return small === typed.trim() ? words.wrong : `${words.wrong} ${words.otherCase(small)}`;
}

function SignIn({ username }: FormPageProps) {
  const password = useSignal('');
  const code = useSignal('');
  /** The second factors that the server accepts, and the username that they are for. */
  const asked = useSignal<(Pick<Fault, 'factors' | 'passkey'> & { of: string }) | null>(null);
  const wanted = asked.value?.of === username.value ? asked.value : null;
  const wantsCode = wanted?.factors?.includes('totp') ?? false;
  const offered = useSignal(false);
  /** How the pressed button signs in. */
  const how = useRef<'password' | 'second' | 'alone'>('password');
  const form = useForm(async () => {
    const { current: by } = how;
    how.current = 'password';
    if (by === 'alone') return loginWithPasskey();
    try {
      let second: Second = wantsCode ? { code: code.value } : {};
      if (by === 'second') second = { passkey: await confirmPasskey(wanted!.passkey!) };
      await login(username.value, password.value, second);
    } catch (error) {
      const { code: what, factors, passkey } = faultOf(error);
      if (factors) asked.value = { of: username.value, factors, ...(passkey && { passkey }) };
      if (what !== 'factor-needed') throw error;
    }
  });
  const press = (by: 'second' | 'alone') => (event: Event) => {
    how.current = by;
    void form.submit(event);
  };
  useEffect(() => {
    call('offersPasskeys').then(
      (isOffered) => {
        offered.value = isOffered && 'PublicKeyCredential' in globalThis;
      },
      () => undefined,
    );
  }, []);
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (wanted) place.current!.querySelector<HTMLElement>('input, button')?.focus();
  }, [wanted?.of]);
  return (
    <Form
      form={form}
      label={words.signIn}
      here={{ 401: wrongWords(username.value), 403: words.disabled }}
      fields={{ 401: 'password', 'wrong-password': 'password', 'wrong-code': 'code' }}
    >
      <Username value={username} />
      <Secret label={words.password} name="password" autocomplete="current-password" value={password} />
      <div ref={place} role="status">
        {wantsCode && <Code hint={words.codeHint} value={code} />}
        {wanted?.passkey && (
          <>
            <p class="hint">{words.passkeyHint}</p>
            <Button
              class="wide"
              label={words.confirmPasskey}
              isBusy={form.working.value}
              onClick={press('second')}
            />
          </>
        )}
        {wanted && !wantsCode && !wanted.passkey && <p class="caution">{words.passkeyAway}</p>}
      </div>
      <FormTrouble />
      <Submit form={form} class="primary wide" label={words.signIn} busy={words.working} />
      {offered.value && (
        <Button class="wide" label={words.byPasskey} isBusy={form.working.value} onClick={press('alone')} />
      )}
    </Form>
  );
}

interface CheckProps {
  name: string;
  label: string;
  value: Signal<boolean>;
  required?: boolean;
  describedBy?: string;
}

function Check({ name, label, value, required = false, describedBy }: CheckProps) {
  return (
    <label class="check">
      <input
        type="checkbox"
        name={name}
        required={required}
        aria-describedby={describedBy}
        checked={value.value}
        onChange={(event) => {
          value.value = event.currentTarget.checked;
        }}
      />
      <span>{label}</span>
    </label>
  );
}

function Register({ username, invite }: FormPageProps) {
  const password = useSignal('');
  const repeat = useSignal('');
  const withKey = useSignal(true);
  const understood = useSignal(false);
  const registration = useSignal('open');
  const needsInvite = registration.value === 'invite' || invite.value !== '';
  const form = useForm(async () => {
    await requireGoodPassword(username.value, password.value, repeat.value);
    const wishes = { recoveryKey: withKey.value, invite: needsInvite ? invite.value.trim() : '' };
    await register(username.value, password.value, wishes);
  });
  useEffect(() => {
    // Ignored: if the server is away, sending the form reports it.
    call('registration').then(writeTo(registration), () => undefined);
  }, []);
  if (registration.value === 'closed') return <p class="caution">{words.closed}</p>;
  return (
    <Form
      form={form}
      label={words.register}
      here={{ 403: needsInvite ? words.uninvited : words.closed, 409: words.taken }}
      fields={{ 409: 'username', name: 'username', rule: 'username', ...(needsInvite && { 403: 'invite' }) }}
    >
      <Username value={username} hint={words.usernameRule} />
      <NewPassword label={words.password} value={password} repeat={repeat} />
      {needsInvite && (
        <Field
          label={words.invite}
          hint={words.inviteRule}
          name="invite"
          autocomplete="off"
          max={limits.inviteChars}
          value={invite}
        />
      )}
      <div class="check-with-hint">
        <Check name="with-key" label={words.withKey} value={withKey} describedBy="with-key-hint" />
        <small id="with-key-hint" class="hint">
          {words.withKeyHint}
        </small>
      </div>
      {!withKey.value && (
        <>
          <p class="caution">
            <Icon name="lock" />
            <span>{words.noReset}</span>
          </p>
          <Check name="understood" label={words.understood} value={understood} required />
        </>
      )}
      <FormTrouble />
      <Submit form={form} class="primary wide" label={words.register} />
    </Form>
  );
}

function Recover({ username }: FormPageProps) {
  const key = useSignal('');
  const password = useSignal('');
  const repeat = useSignal('');
  const form = useForm(async () => {
    await requireGoodPassword(username.value, password.value, repeat.value);
    await recover(username.value, key.value, password.value);
  });
  const keyFault = useFieldFault('recovery-key', true);
  const { title, how, key: label, keyHint, next, after, wrong, changed, unsettled } = text.recover;
  return (
    <Form
      form={form}
      label={title}
      here={{ 403: words.disabled, 'wrong-password': wrong, 'keys-changed': changed, unsettled }}
      fields={{ 'wrong-password': 'recovery-key' }}
    >
      <h2>{title}</h2>
      <p class="hint">{how}</p>
      <Username value={username} />
      <div class="field">
        <label for="recovery-key">{label}</label>
        <textarea
          id="recovery-key"
          name="recovery-key"
          rows={3}
          required
          autocomplete="off"
          autocapitalize="characters"
          spellcheck={false}
          {...keyFault}
          {...boundTo(key)}
        />
        <small id="recovery-key-hint" class="hint">
          {keyHint}
        </small>
        <FieldFault name="recovery-key" />
      </div>
      <NewPassword label={next} value={password} repeat={repeat} />
      <p class="hint">{after}</p>
      <FormTrouble />
      <Submit form={form} class="primary wide" label={text.recover.do} />
    </Form>
  );
}

type Link = 'toRecover' | 'toRegister' | 'toSignIn';
const PAGES: Record<How, { Form: (props: FormPageProps) => JSX.Element; links: [to: How, label: Link][] }> = {
  login: {
    Form: SignIn,
    links: [
      ['recover', 'toRecover'],
      ['register', 'toRegister'],
    ],
  },
  register: { Form: Register, links: [['login', 'toSignIn']] },
  recover: { Form: Recover, links: [['login', 'toSignIn']] },
};

/** Returns the invitation in a link like /#invite=… and removes it from the address, where others might see it. */
function invitation(): string {
  const [, found = ''] = /^#invite=([\w-]+)$/.exec(location.hash) ?? [];
  if (found) history.replaceState(null, '', location.pathname);
  return found;
}

export function Enter() {
  const how = useSignal<How>('login');
  const username = useSignal('');
  const invite = useSignal('');
  useEffect(() => {
    invite.value = invitation();
    if (invite.value) how.value = 'register';
  }, []);
  const { Form, links } = PAGES[how.value];
  const before = useRef(how.value);
  useLayoutEffect(() => {
    // The pressed link is gone, so focus the form that it opened.
    if (how.value !== before.current) document.querySelector<HTMLElement>('.enter form input')?.focus();
    before.current = how.value;
  }, [how.value]);
  return (
    <SignInLayout>
      <header class="enter-head">
        <span class="mark">
          <Icon name="wardrobe" size={34} />
        </span>
        <h1>{text.name}</h1>
        <p>{text.tagline}</p>
      </header>
      <p class="sign-out-reason" role="status">
        {signOutReason.value}
      </p>
      <Form key={how.value} username={username} invite={invite} />
      <div class="enter-links">
        {links.map(([to, label]) => (
          <Button kind="link" label={words[label]} key={to} onClick={setTo(how, to)} />
        ))}
      </div>
    </SignInLayout>
  );
}
