/** The dialog with the settings of this browser, which apply at once. */
import { Modal } from '../core/controls/controls.tsx';
import { Choice } from '../core/controls/fields.tsx';
import { chosenColours, chosenLanguage } from '../core/settings.ts';
import { text } from '../core/text/index.ts';
import { LANGUAGES } from '../core/text/language.ts';
import { closeDialog } from '../files/actions.ts';

export function Settings() {
  const { title, language, ofBrowser, colours, ofSystem, light, dark, hint } = text.settings;
  return (
    <Modal title={title} onClose={closeDialog}>
      <div class="settings">
        <Choice
          name="language"
          label={language}
          chosen={chosenLanguage}
          options={{ auto: ofBrowser, ...LANGUAGES }}
        />
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
