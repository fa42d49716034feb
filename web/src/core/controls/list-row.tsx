import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { setTo } from '../signals.ts';
import { text } from '../text/index.ts';
import { Confirm, type ConfirmProps } from './confirm.tsx';
import { IconButton, type IconButtonProps } from './controls.tsx';

interface ListRowProps {
  name: string;
  badges?: ComponentChildren;
  /** Joined into one line; empty facts are left out. */
  facts?: (string | false | undefined)[];
  note?: string | undefined;
  class?: string;
  /** Shown below the note. */
  details?: ComponentChildren;
  /** Action buttons at the end of the row. */
  children?: ComponentChildren;
}

/** A row in the lists of links, shares, requests, contacts, sessions and passkeys. */
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

/** Badge of a record that failed its check. */
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
