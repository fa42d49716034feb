import type { ComponentChildren } from 'preact';
import { Icon } from '../core/controls/icon.tsx';
import { LanguageButtons } from '../core/controls/language-buttons.tsx';
import { text } from '../core/text/index.ts';

/** Layout of the sign-in pages and of the page that shows a new recovery key. */
export function SignInLayout({ children }: { children: ComponentChildren }) {
  return (
    <main class="enter">
      <div class="enter-card">{children}</div>
      <ul class="points">
        {text.enter.points.map((point) => (
          <li key={point}>
            <Icon name="check" size={16} />
            {point}
          </li>
        ))}
      </ul>
      <LanguageButtons />
    </main>
  );
}
