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
  /** A dialog opens with the focus here. */
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
        // The types of JSX tell the kinds of inputs apart; these two take the same attributes.
        type={type as 'text'}
        required={!optional}
        // biome-ignore lint/a11y/noAutofocus: only what is shown to be typed into
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
  /** Shared with another field that is shown and hidden with this one. */
  shown?: Signal<boolean>;
}

/** A password, with the eye that shows it. */
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

/** Refuses what was typed into a field, for a reason that the page itself has. */
export function refuse(message: string, field: string): never {
  throw new CallError({ code: 'refused-here', message, field });
}

interface FormState {
  working: Signal<boolean>;
  trouble: Signal<Fault | null>;
  submit(event: Event): Promise<void>;
}

/** A form that does one thing at a time, and remembers what went wrong. */
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
  /** The field that a status, or a code, is about. */
  fields?: Record<number | string, string>;
  children: ComponentChildren;
}

/** Shows a fault beside its field, which gets the focus; a fault that is about no field shows where FormTrouble is. */
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
  /** While it works. */
  busy?: string;
  class?: string;
  name?: string;
}

/** Keeps the focus while the form works: a button that is disabled loses it. */
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
