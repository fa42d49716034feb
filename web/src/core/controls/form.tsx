/** Forms and their fields. */

import { type Signal, useSignal } from '@preact/signals';
import { SECRET_CHARS } from '@szafa/client/strength';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Fault } from '../bridge/messages.ts';
import { CallError, faultOf } from '../call.ts';
import { boundTo, setTo } from '../signals.ts';
import { text } from '../text/index.ts';
import { IconButton } from './controls.tsx';
import { FieldFault, FormFaultContext, type Meanings, useFieldFault } from './faults.tsx';

interface FieldProps {
  label: string;
  hint?: string | undefined;
  name: string;
  type?: 'text' | 'password';
  autocomplete: AutoFill;
  max?: number;
  optional?: boolean;
  /** The field has the focus when its dialog opens. */
  autoFocus?: boolean;
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
  autoFocus = false,
  value,
}: FieldProps) {
  const fault = useFieldFault(name, hint !== undefined);
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <input
        id={name}
        name={name}
        // JSX has one type for each kind of input; text and password inputs take the same attributes.
        type={type as 'text'}
        required={!optional}
        // biome-ignore lint/a11y/noAutofocus: only in dialogs that open to type into this field
        autoFocus={autoFocus}
        autocomplete={autocomplete}
        autocapitalize="none"
        spellcheck={false}
        maxLength={max}
        {...fault}
        {...boundTo(value)}
      />
      {hint && (
        <small id={`${name}-hint`} class="hint">
          {hint}
        </small>
      )}
      <FieldFault name={name} />
    </div>
  );
}

/** The code of an authenticator app. */
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

interface SecretProps extends Omit<FieldProps, 'type' | 'max' | 'autoFocus'> {
  /** Pass the same signal to two fields to show and hide their values together. */
  shown?: Signal<boolean>;
}

/** A password field with a button that shows the password. */
export function Secret({ shown: shared, ...field }: SecretProps) {
  const own = useSignal(false);
  const shown = shared ?? own;
  return (
    <div class="with-eye">
      <Field {...field} type={shown.value ? 'text' : 'password'} />
      <IconButton
        icon="eye"
        class="eye"
        label={shown.value ? text.enter.hide : text.enter.show}
        onClick={setTo(shown, !shown.value)}
      />
    </div>
  );
}

/** Rejects the value of a field that the page itself finds invalid, without asking the server. */
export function refuse(message: string, field: string): never {
  throw new CallError({ code: 'refused-here', message, field });
}

interface FormState {
  working: Signal<boolean>;
  trouble: Signal<Fault | null>;
  submit(event: Event): Promise<void>;
}

/** State of a form: ignores a submit while one is running, and keeps the last error. */
export function useForm(work: () => Promise<void>): FormState {
  const working = useSignal(false);
  const trouble = useSignal<Fault | null>(null);
  return {
    working,
    trouble,
    async submit(event) {
      event.preventDefault();
      event.stopPropagation();
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

interface FormProps {
  form: FormState;
  label: string;
  class?: string;
  here?: Meanings;
  /** Names of the fields at fault, by HTTP status or error code. */
  fields?: Record<number | string, string>;
  children: ComponentChildren;
}

/** Shows a fault beside its field and focuses that field. A fault without a field shows in FormTrouble. */
export function Form({ form, label, class: extra, here, fields = {}, children }: FormProps) {
  const element = useRef<HTMLFormElement>(null);
  const fault = form.trouble.value;
  const field = fault
    ? (fault.field ?? fields[(fault.code === 'api' && fault.status) || fault.code])
    : undefined;
  useLayoutEffect(() => {
    if (field) element.current!.querySelector<HTMLElement>(`[name="${field}"]`)?.focus();
  }, [fault]);
  return (
    <form ref={element} class={extra} onSubmit={form.submit} aria-label={label}>
      <FormFaultContext.Provider value={{ fault, field, here }}>{children}</FormFaultContext.Provider>
    </form>
  );
}

interface SubmitProps {
  form: FormState;
  label: string;
  /** The label while the form is being sent. */
  busy?: string;
  class?: string;
  name?: string;
}

/** Not disabled while the form is being sent: a disabled button loses the focus. */
export function Submit({
  form,
  label,
  busy = text.actions.wait,
  class: extra = 'primary',
  name,
}: SubmitProps) {
  const isBusy = form.working.value;
  return (
    <button type="submit" class={`button ${extra}`} aria-label={name} aria-disabled={isBusy}>
      {isBusy ? busy : label}
    </button>
  );
}
