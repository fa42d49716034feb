/** Common parts of the pages for visitors. */
import type { Fault } from '../core/bridge/messages.ts';
import { Button, EmptyState } from '../core/controls/controls.tsx';
import { Icon } from '../core/controls/icon.tsx';
import { LanguageButtons } from '../core/controls/language-buttons.tsx';
import { aboutLink, explain, text } from '../core/text/index.ts';

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
      <LanguageButtons />
    </footer>
  );
}

/** Why the link opens nothing, and what can be done. */
export function LinkFailed({ fault, onRetry }: { fault: Fault; onRetry(): void }) {
  const known = aboutLink(fault);
  return (
    <section class="visitor-card">
      <EmptyState
        icon={fault.code === 'network' ? 'offline' : 'warning'}
        title={known?.title ?? explain(fault)}
      >
        {known ? <p>{known.next}</p> : <Button label={text.list.retry} onClick={onRetry} />}
      </EmptyState>
    </section>
  );
}
