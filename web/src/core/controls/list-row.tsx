import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { setTo } from '../signals.ts';
import { text } from '../text/index.ts';
import { Confirm, type ConfirmProps } from './confirm.tsx';
import { IconButton, type IconButtonProps } from './controls.tsx';

interface ListRowProps {
  name: string;
  badges?: ComponentChildren;
  /** Joined into one line; those that are absent are left out. */
  facts?: (string | false | undefined)[];
  note?: string | undefined;
  class?: string;
  /** Below the words. */
  details?: ComponentChildren;
  /** Actions. */
  children?: ComponentChildren;
}

/** A row of a list of links, shares, requests, contacts, sessions or passkeys. */
export function ListRow({ name, badges, facts = [], note, class: extra, details, children }: ListRowProps) {
  const line = facts.filter(Boolean).join(' · ');
  return (
    <li class={extra}>
      <div class="device-words">
        <bdi>{name}</bdi>
        {badges}
        {line && <span class="hint">{line}</span>}
        {note !== undefined && (
          <span class="hint" dir="auto">
            {note}
          </span>
        )}
        {details}
      </div>
      {children}
    </li>
  );
}

/** Beside a record that fails its check. */
export function ProblemBadge() {
  return (
    <span class="badge bad" title={text.list.problemHint}>
      {text.list.problem}
    </span>
  );
}

type AskingButtonProps = Omit<IconButtonProps, 'onClick'> & { question: Omit<ConfirmProps, 'onClose'> };

/** A button that asks for confirmation before it acts. */
export function AskingButton({ question, ...button }: AskingButtonProps) {
  const asking = useSignal(false);
  return (
    <>
      <IconButton {...button} onClick={setTo(asking, true)} />
      {asking.value && <Confirm {...question} onClose={setTo(asking, false)} />}
    </>
  );
}
