/** What forms are made of. */
import { type Signal, useSignal } from '@preact/signals';
import { SECRET_CHARS, weaknessOf } from '@szafa/client/strength';
import type { Fault } from '../bridge.ts';
import { CoreError, faultOf } from '../page/core.ts';
import { explain, text } from '../text.ts';
import { IconButton } from './controls.tsx';
import { KeyTrouble } from './key-trouble.tsx';

interface FieldProps {
  label: string;
  hint?: string | undefined;
  name: string;
  type?: 'text' | 'password';
  autocomplete: AutoFill;
  max?: number;
  optional?: boolean;
  value: Signal<string>;
}

export function Field({
  label,
  hint,
  name,
  type = 'text',
  autocomplete,
  max = SECRET_CHARS.max,
  optional = false,
  value,
}: FieldProps) {
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <input
        id={name}
        name={name}
        // The types of JSX tell the kinds of inputs apart; these two take the same attributes.
        type={type as 'text'}
        value={value.value}
        required={!optional}
        autocomplete={autocomplete}
        autocapitalize="none"
        spellcheck={false}
        maxLength={max}
        aria-describedby={hint ? `${name}-hint` : undefined}
        onInput={(event) => {
          value.value = event.currentTarget.value;
        }}
      />
      {hint && (
        <small id={`${name}-hint`} class="hint">
          {hint}
        </small>
      )}
    </div>
  );
}

/** Of the second factor. */
export function Code({ hint, value }: { hint?: string; value: Signal<string> }) {
  return (
    <Field
      label={text.enter.code}
      hint={hint}
      name="code"
      autocomplete="one-time-code"
      max={16}
      value={value}
    />
  );
}

interface SecretProps {
  label: string;
  hint?: string | undefined;
  name: string;
  autocomplete: AutoFill;
  optional?: boolean;
  value: Signal<string>;
  shown: Signal<boolean>;
}

/** A password, with the eye that shows it. */
export function Secret({ shown, ...field }: SecretProps) {
  return (
    <div class="with-eye">
      <Field {...field} type={shown.value ? 'text' : 'password'} />
      <IconButton
        icon="eye"
        class="eye"
        label={shown.value ? text.enter.hide : text.enter.show}
        onClick={() => {
          shown.value = !shown.value;
        }}
      />
    </div>
  );
}

interface NewSecretProps {
  label: string;
  value: Signal<string>;
  repeat: Signal<string>;
}

/** A password that is about to be set, twice. */
export function NewSecret({ label, value, repeat }: NewSecretProps) {
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

/** Ends what a form does, for a reason that the page itself has. */
export function refuse(message: string): never {
  throw new CoreError({ code: 'refused-here', message });
}

/** Passes where a new password may be set. */
export async function requireGood(username: string, password: string, repeat: string): Promise<void> {
  if (password !== repeat) refuse(text.enter.different);
  // What shows a recovery key is here before one counts that nobody has seen.
  const loading = Promise.all([weaknessOf(password, [username]), import('./recovery-key.tsx')]);
  const [weakness] = await loading.catch(() => {
    // Both come with the first new password; nothing else of them can fail.
    throw new CoreError({ code: 'part-missing', message: 'what a new password needs could not be loaded' });
  });
  if (weakness) refuse(text.enter.weak[weakness]);
}

interface Form {
  working: Signal<boolean>;
  trouble: Signal<Fault | null>;
  submit(event: Event): Promise<void>;
}

/** A form that does one thing at a time, and says what went wrong. */
export function useForm(work: () => Promise<void>): Form {
  const working = useSignal(false);
  const trouble = useSignal<Fault | null>(null);
  return {
    working,
    trouble,
    async submit(event) {
      event.preventDefault();
      if (working.value) return;
      working.value = true;
      trouble.value = null;
      try {
        await work();
      } catch (error) {
        trouble.value = faultOf(error);
      } finally {
        working.value = false;
      }
    },
  };
}

interface TroubleProps {
  form: Pick<Form, 'trouble'>;
  /** What a status, or a code, means in this form. */
  here?: Record<number | string, string>;
}

/** What went wrong. */
export function Trouble({ form, here }: TroubleProps) {
  const fault = form.trouble.value;
  return (
    <div class="trouble" role="alert">
      {fault && (fault.code === 'keys' ? <KeyTrouble fault={fault} /> : explain(fault, here))}
    </div>
  );
}
