/** Shows the error of a form: beside the field at fault, or at the end of the form. */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Fault } from '../bridge/messages.ts';
import { explain } from '../text/index.ts';
import { KeyTrouble } from './key-trouble.tsx';

/** Messages of one form, by HTTP status or error code. */
export type Meanings = Record<number | string, string>;

interface FormFault {
  fault: Fault | null;
  /** Name of the field at fault. */
  field: string | undefined;
  here: Meanings | undefined;
}

export const FormFaultContext = createContext<FormFault | null>(null);

/** ARIA attributes of a field: whether it is invalid, and its descriptions. */
export function useFieldFault(name: string, hasHint = false) {
  const isInvalid = useContext(FormFaultContext)?.field === name;
  const ids = [hasHint && `${name}-hint`, isInvalid && `${name}-fault`].filter(Boolean).join(' ');
  return { 'aria-invalid': isInvalid || undefined, 'aria-describedby': ids || undefined };
}

/** The error below the field of this name, if that field is at fault. */
export function FieldFault({ name }: { name: string }) {
  const now = useContext(FormFaultContext);
  const message = now?.fault && now.field === name ? explain(now.fault, now.here) : '';
  if (message === '') return null;
  return (
    <small id={`${name}-fault`} class="trouble" role="alert">
      {message}
    </small>
  );
}

export function Trouble({ fault, here }: { fault: Fault | null | undefined; here?: Meanings | undefined }) {
  return (
    <div class="trouble" role="alert">
      {fault && (fault.code === 'keys' ? <KeyTrouble fault={fault} /> : explain(fault, here))}
    </div>
  );
}

/** The error of a form, if no field is at fault. */
export function FormTrouble() {
  const now = useContext(FormFaultContext);
  return <Trouble fault={now?.field === undefined ? now?.fault : null} here={now?.here} />;
}
