/** Parts of the account dialog: each button opens its form, one form at a time. */

import type { Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Account } from '../core/bridge/calls.ts';
import { CallError } from '../core/call.ts';
import { ModalFoot } from '../core/controls/controls.tsx';
import { Secret } from '../core/controls/form.tsx';
import { setTo } from '../core/signals.ts';
import { text } from '../core/text/index.ts';
import { account } from './session.ts';

const words = text.account;
export type OpenForm = 'password' | 'factor' | 'factorOff' | 'passkey' | 'remove' | null;

export interface PartProps {
  /** The form that is open. */
  opened: Signal<OpenForm>;
}

interface FoldProps extends PartProps {
  name: Exclude<OpenForm, null>;
  danger?: boolean;
  children: ComponentChildren;
}

/** Throws if the account has changed. Call it after an await: work for one account must not be done for the next. */
export function requireSignedIn(who: Account): void {
  if (account.peek() !== who) throw new CallError({ code: 'locked', message: 'signed out meanwhile' });
}

/** A button that is replaced by its form while the form is open. The focus moves along. */
export function Fold({ name, danger = false, opened, children }: FoldProps) {
  const place = useRef<HTMLDivElement>(null);
  const was = useRef(false);
  const is = opened.value === name;
  useLayoutEffect(() => {
    if (is !== was.current) place.current!.querySelector<HTMLElement>('input, button')!.focus();
    was.current = is;
  }, [is]);
  return (
    <div ref={place} class="fold">
      {is ? (
        children
      ) : (
        <button type="button" class={`button ${danger ? 'danger-line' : ''}`} onClick={setTo(opened, name)}>
          {words[name].do}
        </button>
      )}
    </div>
  );
}

/** Shows the result of an action inside the dialog, because a notice would be hidden behind it. */
export function StatusLine({ news }: { news: Signal<string> }) {
  return (
    <p class="said" role="status">
      {news.value}
    </p>
  );
}

interface FootProps extends PartProps {
  working: Signal<boolean>;
  label: string;
  danger?: boolean;
}

export function Foot({ working, label, danger = false, opened }: FootProps) {
  return (
    <ModalFoot
      act={working.value ? text.actions.wait : label}
      danger={danger}
      isBusy={working.value}
      onCancel={setTo(opened, null)}
    />
  );
}

export function CurrentPassword({ label, value }: { label: string; value: Signal<string> }) {
  return <Secret label={label} name="current" autocomplete="current-password" value={value} />;
}

/** Messages and fields of these forms for a wrong password or code. */
export const wrong = () => ({
  here: { 'wrong-password': words.wrongPassword, 403: words.wrongPassword },
  fields: { 'wrong-password': 'current', 403: 'current', 'wrong-code': 'code' },
});
