/** What is above and below on the pages for visitors. */
import { text } from '../text.ts';
import { DoorLanguage } from './door-language.tsx';
import { Icon } from './icon.tsx';

export function VisitorHead({ title }: { title: string }) {
  return (
    <header class="visitor-head">
      <Icon name="wardrobe" size={28} />
      <span class="brand-name">{text.name}</span>
      <span class="hint">{title}</span>
    </header>
  );
}

/** How far the page can be trusted, and in which language. */
export function VisitorFoot({ lines }: { lines: readonly string[] }) {
  return (
    <footer class="visitor-foot">
      {lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
      <DoorLanguage />
    </footer>
  );
}
