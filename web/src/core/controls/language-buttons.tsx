import { chosenLanguage } from '../settings.ts';
import { language } from '../text/index.ts';
import { LANGUAGES, type Language } from '../text/language.ts';

/** Whoever cannot read this page finds their own language by its name. */
export function LanguageButtons() {
  return (
    <div class="door-language">
      {Object.entries(LANGUAGES).map(([one, name]) => (
        <button
          key={one}
          type="button"
          class="link"
          lang={one}
          aria-pressed={one === language()}
          onClick={() => {
            chosenLanguage.value = one as Language;
          }}
        >
          {name}
        </button>
      ))}
    </div>
  );
}
