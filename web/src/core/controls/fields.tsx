/** Fields of rarely opened dialogs, loaded with those dialogs. */
import type { Signal } from '@preact/signals';
import { boundTo } from '../signals.ts';

interface ChoiceProps<T extends string> {
  name: string;
  label: string;
  chosen: Signal<T>;
  /** The label of each value. */
  options: Record<T, string>;
}

export function Choice<T extends string>({ name, label, chosen, options }: ChoiceProps<T>) {
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <select
        id={name}
        value={chosen.value}
        onChange={(event) => {
          chosen.value = event.currentTarget.value as T;
        }}
      >
        {Object.entries<string>(options).map(([value, words]) => (
          <option key={value} value={value} selected={value === chosen.value}>
            {words}
          </option>
        ))}
      </select>
    </div>
  );
}

interface NumberFieldProps {
  id: string;
  label: string;
  hint?: string;
  /** A field with a placeholder may be left empty. */
  placeholder?: string;
  value: Signal<string>;
  min: number;
  max: number;
  step?: number | 'any';
}

export function NumberField({ id, label, hint, placeholder, value, min, max, step = 1 }: NumberFieldProps) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="number"
        inputMode={step === 1 ? 'numeric' : 'decimal'}
        required={placeholder === undefined}
        min={min}
        max={max}
        step={step}
        placeholder={placeholder}
        aria-describedby={hint && `${id}-hint`}
        {...boundTo(value)}
      />
      {hint && (
        <small id={`${id}-hint`} class="hint">
          {hint}
        </small>
      )}
    </div>
  );
}

export function NoteField({ label, max, value }: { label: string; max: number; value: Signal<string> }) {
  return (
    <div class="field">
      <label for="note">{label}</label>
      <textarea id="note" rows={2} maxLength={max} {...boundTo(value)} />
    </div>
  );
}
