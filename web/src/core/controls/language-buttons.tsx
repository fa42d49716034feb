import { chosenLanguage } from '../settings.ts';
import { setTo } from '../signals.ts';
import { language } from '../text/index.ts';
import { LANGUAGES, type Language } from '../text/language.ts';
import { Button } from './controls.tsx';

/** Languages under their own names, for people who cannot read the current language. */
export function LanguageButtons() {
  return (
    <div class="languages">
      {Object.entries(LANGUAGES).map(([one, name]) => (
        <Button
          kind="link"
          label={name}
          key={one}
          lang={one}
          pressed={one === language()}
          onClick={setTo(chosenLanguage, one as Language)}
        />
      ))}
    </div>
  );
}
