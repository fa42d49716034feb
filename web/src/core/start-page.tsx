/** Starts every page: sets language and colours, and checks that the browser can encrypt. */
import { effect } from '@preact/signals';
import { type ComponentType, render } from 'preact';
import { active, onProgress } from '../transfers/transfers.ts';
import { listen } from './call.ts';
import { setReachable } from './connection.ts';
import { EmptyState } from './controls/controls.tsx';
import { chosenColours, chosenLanguage } from './settings.ts';
import { language, speak, text } from './text/index.ts';

/** Browser features that the SDK and the pages need, under names that a user can look up. */
const NEEDS: [name: string, isHere: () => boolean][] = [
  ['WebAssembly', () => 'WebAssembly' in globalThis],
  ['Web Workers', () => 'Worker' in globalThis],
  ['IndexedDB', () => 'indexedDB' in globalThis],
  ['BroadcastChannel', () => 'BroadcastChannel' in globalThis],
  ['navigator.locks', () => 'locks' in navigator],
  ['Uint8Array.fromBase64', () => 'fromBase64' in Uint8Array],
  ['Array.fromAsync', () => 'fromAsync' in Array],
  ['Promise.withResolvers', () => 'withResolvers' in Promise],
  ['Set.prototype.union', () => 'union' in Set.prototype],
  ['AbortSignal.any', () => 'AbortSignal' in globalThis && 'any' in AbortSignal],
];

/** Replaces the page if the context is insecure or the browser lacks a feature. */
function CannotRun({ isSecure, missing }: { isSecure: boolean; missing: string[] }) {
  const { insecure, unsupported } = text;
  return (
    <main class="middle refusal">
      <EmptyState icon="lock" title={isSecure ? unsupported.title : insecure.title}>
        <p>{isSecure ? unsupported.why : insecure.why}</p>
        {isSecure ? (
          <>
            <p>{unsupported.what}</p>
            <p class="hint">{unsupported.lacks(missing)}</p>
          </>
        ) : (
          <>
            <h3>{insecure.what}</h3>
            <ol>
              {insecure.steps.map((step) => (
                <li key={step}>{step}</li>
              ))}
            </ol>
          </>
        )}
      </EmptyState>
    </main>
  );
}

interface PageOptions {
  Page: ComponentType;
  /** Without it, the title in the HTML stays. */
  title?(): string;
  /** Returns names of further features that the browser lacks. */
  lacks?(): Promise<string[]>;
  /** Whether leaving the page would lose something besides transfers. */
  hasUnsaved?(): boolean;
  /** Runs before the page is shown. */
  prepare?(): void;
  begin(): void;
}

export async function startPage(options: PageOptions): Promise<void> {
  const { Page, title, lacks, hasUnsaved, prepare, begin } = options;
  const target = document.getElementById('page')!;
  const { documentElement: root } = document;
  effect(() => {
    root.lang = language();
    if (title) document.title = `${title()} · ${text.name}`;
  });
  effect(() => {
    root.dataset['colours'] = chosenColours.value;
  });
  chosenLanguage.subscribe(() => void speak());

  const isSecure = globalThis.isSecureContext && globalThis.crypto?.subtle !== undefined;
  const missing = isSecure ? NEEDS.filter(([, isHere]) => !isHere()).map(([name]) => name) : [];
  if (isSecure && lacks) missing.push(...(await lacks()));
  if (!isSecure || missing.length > 0) {
    render(<CannotRun isSecure={isSecure} missing={missing} />, target);
    return;
  }
  listen({ progress: onProgress, reachable: setReachable });
  globalThis.addEventListener('beforeunload', (event) => {
    if (active.value.length > 0 || hasUnsaved?.()) event.preventDefault();
  });
  prepare?.();
  render(<Page />, target);
  begin();
}
