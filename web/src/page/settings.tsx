/** What somebody chooses for this browser; each choice holds at once. */
import type { Signal } from '@preact/signals';
import { Modal } from '../core/controls/controls.tsx';
import { chosenColours, chosenLanguage } from '../core/settings.ts';
import { text } from '../core/text/index.ts';
import { LANGUAGES } from '../core/text/language.ts';
import { closeDialog } from '../files/actions.ts';

interface ChoiceProps<T extends string> {
  name: string;
  label: string;
  chosen: Signal<T>;
  /** By the words for them. */
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

export function LanguageChoice() {
  const { language, ofBrowser } = text.settings;
  return (
    <Choice
      name="language"
      label={language}
      chosen={chosenLanguage}
      options={{ auto: ofBrowser, ...LANGUAGES }}
    />
  );
}

export function Settings() {
  const { title, colours, ofSystem, light, dark, hint } = text.settings;
  return (
    <Modal title={title} onClose={closeDialog}>
      <div class="settings">
        <LanguageChoice />
        <Choice
          name="colours"
          label={colours}
          chosen={chosenColours}
          options={{ auto: ofSystem, light, dark }}
        />
        <p class="hint">{hint}</p>
      </div>
    </Modal>
  );
}
