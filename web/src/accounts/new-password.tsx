/** Fields and checks of a new password. */
import { type Signal, useSignal } from '@preact/signals';
import { weaknessOf } from '@szafa/client/strength';
import { CallError } from '../core/call.ts';
import { Field, refuse, Secret } from '../core/controls/form.tsx';
import { text } from '../core/text/index.ts';

interface NewPasswordProps {
  label: string;
  value: Signal<string>;
  repeat: Signal<string>;
}

export function NewPassword({ label, value, repeat }: NewPasswordProps) {
  const shown = useSignal(false);
  return (
    <>
      <Secret
        label={label}
        hint={text.enter.passwordRule}
        name="password"
        autocomplete="new-password"
        value={value}
        shown={shown}
      />
      <Field
        label={text.enter.repeat}
        name="repeat"
        type={shown.value ? 'text' : 'password'}
        autocomplete="new-password"
        value={repeat}
      />
    </>
  );
}

/** Throws if the password may not be set. */
export async function requireGoodPassword(username: string, password: string, repeat: string): Promise<void> {
  if (password !== repeat) refuse(text.enter.different, 'repeat');
  // Load the page that shows a recovery key now: if it failed later, a valid key would never be shown.
  const loading = Promise.all([weaknessOf(password, [username]), import('./recovery-key.tsx')]);
  const [weakness] = await loading.catch(() => {
    // weaknessOf and recovery-key.tsx load code on first use; nothing else here can fail.
    throw new CallError({
      code: 'part-missing',
      message: 'the scripts for a new password could not be loaded',
    });
  });
  if (weakness) refuse(text.enter.weak[weakness], 'password');
}
