/** Common parts of the pages behind links and file requests. */
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

/** Explains how far the page can be trusted, and lets the visitor choose the language. */
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

/** Explains why the link cannot be opened and what to do. */
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
