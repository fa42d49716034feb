/** Shows a new recovery key until the owner has typed a part of it, or skips that after a warning. */

import { useSignal } from '@preact/signals';
import { plainRecoveryText, recoverySheet } from '@szafa/client';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { call } from '../core/call.ts';
import { Button } from '../core/controls/controls.tsx';
import { FormTrouble } from '../core/controls/faults.tsx';
import { Field, Form, refuse, Submit, useForm } from '../core/controls/form.tsx';
import { Icon } from '../core/controls/icon.tsx';
import { notify } from '../core/notices.ts';
import { writeTo } from '../core/signals.ts';
import { text } from '../core/text/index.ts';
import { CurrentPassword, wrong } from './fold.tsx';
import { shownKey } from './session.ts';
import { SignInLayout } from './sign-in-layout.tsx';

const words = text.recoveryKey;
const TAKEN_MS = 60_000;

function done(): void {
  shownKey.value = null;
}

/** Chooses one group from each half, so that a half-written copy is noticed. */
function choose(groups: string[]): [number, number] {
  const half = groups.length / 2;
  const [first, second] = crypto.getRandomValues(new Uint32Array(2));
  return [first! % half, half + (second! % half)];
}

function save(sheet: string, username: string): void {
  const url = URL.createObjectURL(new Blob([sheet], { type: 'text/plain' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `szafa-recovery-key-${username}.txt`;
  link.click();
  // Some browsers read the URL only after a delay.
  setTimeout(() => URL.revokeObjectURL(url), TAKEN_MS);
}

async function copy(key: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(key);
    notify(words.copied);
  } catch {
    notify(words.notCopied, true);
  }
}

interface StageProps {
  groups: string[];
  isWish: boolean;
  go(to: Stage): void;
}
type Stage = 'shown' | 'asked' | 'warned';

function ShowKey({ groups, isWish, go, sheet, username }: StageProps & { sheet: string; username: string }) {
  return (
    <>
      <p>{words.what}</p>
      {isWish && <p>{text.account.recovery.after}</p>}
      <ol class="recovery-key" aria-label={words.title}>
        {groups.map((group, at) => (
          <li key={at}>{group}</li>
        ))}
      </ol>
      <div class="key-acts">
        <Button icon="copy" label={words.copy} onClick={() => void copy(groups.join('-'))} />
        <Button icon="text" label={words.print} onClick={() => globalThis.print()} />
        <Button icon="download" label={words.save} onClick={() => save(sheet, username)} />
      </div>
      <Button class="primary wide" label={words.saved} onClick={() => go('asked')} />
      <div class="enter-links">
        <Button kind="link" label={words.skip} onClick={() => go('warned')} />
      </div>
      <pre class="sheet" aria-hidden="true">
        {sheet}
      </pre>
    </>
  );
}

function ConfirmKey({ groups, isWish, go }: StageProps) {
  const typed = useSignal('');
  const password = useSignal('');
  const [first, second] = useMemo(() => choose(groups), [groups]);
  const form = useForm(async () => {
    if (plainRecoveryText(typed.value) !== `${groups[first]}${groups[second]}`) refuse(words.wrong, 'groups');
    const own = shownKey.peek();
    if (isWish) await call('setRecoveryKey', password.value, groups.join('-'));
    if (shownKey.peek() !== own) return;
    done();
    notify(words.confirmed);
  });
  return (
    <Form form={form} label={words.confirm} {...wrong()}>
      <Field
        label={words.ask(first + 1, second + 1)}
        hint={words.askWhy}
        name="groups"
        autocomplete="off"
        value={typed}
      />
      {isWish && <CurrentPassword label={text.account.yourPassword} value={password} />}
      <FormTrouble />
      <Submit form={form} class="primary wide" label={words.confirm} />
      <div class="enter-links">
        <Button kind="link" label={words.again} onClick={() => go('shown')} />
        <Button kind="link" label={words.skip} onClick={() => go('warned')} />
      </div>
    </Form>
  );
}

function SkipWarning({ go }: StageProps) {
  return (
    <>
      <p class="caution">
        <Icon name="warning" />
        <span>{words.warning}</span>
      </p>
      <div class="key-acts">
        <Button class="primary" label={words.back} onClick={() => go('shown')} />
        <Button class="danger" label={words.skip} onClick={done} />
      </div>
    </>
  );
}

export function RecoveryKey({ shown }: { shown: NonNullable<typeof shownKey.value> }) {
  const { username, key, isWish = false } = shown;
  const stage = useSignal<Stage>('shown');
  const title = useRef<HTMLHeadingElement>(null);
  const groups = useMemo(() => key.split('-'), [key]);
  const sheet = recoverySheet(key, { server: globalThis.location.origin, username });
  // The pressed button is gone, so focus the heading: screen readers continue there.
  useLayoutEffect(() => title.current?.focus(), [stage.value]);
  const rest = { groups, isWish, go: writeTo(stage) };
  return (
    <SignInLayout>
      <h1 ref={title} tabIndex={-1}>
        {words.title}
      </h1>
      {stage.value === 'shown' && <ShowKey {...rest} sheet={sheet} username={username} />}
      {stage.value === 'asked' && <ConfirmKey {...rest} />}
      {stage.value === 'warned' && <SkipWarning {...rest} />}
    </SignInLayout>
  );
}
