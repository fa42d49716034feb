import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { text } from '../text/index.ts';
import { FormTrouble } from './faults.tsx';
import { Icon, type IconName } from './icon.tsx';

export interface IconButtonProps {
  icon: IconName;
  label: string;
  onClick(event: MouseEvent): void;
  class?: string;
  id?: string;
  disabled?: boolean;
  expanded?: boolean;
}

export function IconButton({
  icon,
  label,
  onClick,
  class: extra = '',
  id,
  disabled,
  expanded,
}: IconButtonProps) {
  return (
    <button
      type="button"
      id={id}
      class={`icon-button ${extra}`}
      aria-label={label}
      title={label}
      disabled={disabled}
      aria-expanded={expanded}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}

interface ButtonProps {
  label: ComponentChildren;
  onClick(event: MouseEvent): unknown;
  kind?: 'button' | 'link';
  icon?: IconName;
  class?: string;
  /** Read out in place of the label. */
  name?: string;
  disabled?: boolean;
  /** Keeps the focus, which a disabled button loses. */
  isBusy?: boolean;
  pressed?: boolean;
  lang?: string;
  describedBy?: string;
}

export function Button({ label, onClick, kind = 'button', icon, class: extra = '', ...rest }: ButtonProps) {
  const { name, disabled, isBusy, pressed, lang, describedBy } = rest;
  return (
    <button
      type="button"
      class={`${kind} ${extra}`}
      lang={lang}
      disabled={disabled}
      aria-label={name}
      aria-disabled={isBusy}
      aria-pressed={pressed}
      aria-describedby={describedBy}
      onClick={onClick}
    >
      {icon && <Icon name={icon} />}
      {label}
    </button>
  );
}

interface ModalProps {
  title: string;
  onClose(): void;
  children: ComponentChildren;
  class?: string;
}

/** The browser's own dialog: it keeps the focus inside and closes on Escape. */
export function Modal({ title, onClose, children, class: extra = '' }: ModalProps) {
  const element = useRef<HTMLDialogElement>(null);
  // Before it is seen, as with a menu: a key that is pressed then is meant for it.
  useLayoutEffect(() => {
    const shown = element.current!;
    shown.showModal();
    // The browser gives the focus back, as long as it is in the page.
    return () => shown.close();
  }, []);
  return (
    <dialog
      ref={element}
      class={`modal ${extra}`}
      aria-labelledby="modal-title"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === element.current) onClose();
      }}
    >
      <div class="modal-body">
        <header class="modal-head">
          <h2 id="modal-title" dir="auto" title={title}>
            {title}
          </h2>
          <IconButton icon="close" label={text.actions.close} onClick={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  );
}

interface ModalFootProps {
  act: string;
  onCancel(): void;
  /** Without it, the form is sent. */
  onAct?(): void;
  danger?: boolean | undefined;
  disabled?: boolean;
  /** The form is being sent. The button keeps the focus, which a disabled one loses. */
  isBusy?: boolean;
  /** Further actions. */
  children?: ComponentChildren;
}

/** The end of a dialog or a form, always in sight: what went wrong, not to do it, and to do it. */
export function ModalFoot({ act, onCancel, onAct, danger, disabled, isBusy, children }: ModalFootProps) {
  return (
    <footer class="modal-foot">
      {!onAct && <FormTrouble />}
      {children}
      <button type="button" class="button" onClick={onCancel}>
        {text.actions.cancel}
      </button>
      <button
        type={onAct ? 'button' : 'submit'}
        class={`button ${danger ? 'danger' : 'primary'}`}
        disabled={disabled}
        aria-disabled={isBusy}
        onClick={onAct}
      >
        {act}
      </button>
    </footer>
  );
}

export interface MenuItem {
  icon: IconName;
  label: string;
  act(): void;
  danger?: boolean;
}

interface MenuProps {
  label: string;
  items: MenuItem[];
  /** Where it hangs, in the window: by its right edge below a button, or by its left one at the pointer. */
  at: MenuPlace;
  onClose(): void;
}

export type MenuPlace = { top: number } & ({ right: number } | { left: number });

const MENU_WIDTH = 240;

/** Within the window, whichever edge it hangs by. */
function across(at: MenuPlace): { right: string } | { left: string } {
  if ('right' in at) return { right: `${at.right}px` };
  return { left: `${Math.max(8, Math.min(at.left, globalThis.innerWidth - MENU_WIDTH))}px` };
}

/** Below a button, by its right edge. */
export function below(button: Element): MenuPlace {
  const box = button.getBoundingClientRect();
  return { right: globalThis.innerWidth - box.right, top: box.bottom + 4 };
}

export function Menu({ label, items, at, onClose }: MenuProps) {
  const element = useRef<HTMLDivElement>(null);
  const before = useRef(document.activeElement as HTMLElement | null);
  // Before it is seen: a key that is pressed then is meant for it.
  useLayoutEffect(() => {
    element.current?.querySelector('button')?.focus();
    return () => before.current?.focus();
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    const buttons = [...element.current!.querySelectorAll('button')];
    const now = buttons.indexOf(document.activeElement as HTMLButtonElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) buttons.at((now + step) % buttons.length)?.focus();
    else if (event.key === 'Escape' || event.key === 'Tab') onClose();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const height = items.length * 44 + 16;
  const top = Math.max(8, Math.min(at.top, globalThis.innerHeight - height - 8));
  return (
    <>
      <div
        class="menu-shade"
        onMouseDown={onClose}
        onContextMenu={(event) => {
          event.preventDefault();
          onClose();
        }}
      />
      <div
        ref={element}
        class="menu"
        role="menu"
        tabIndex={-1}
        aria-label={label}
        onKeyDown={onKeyDown}
        style={{ top: `${top}px`, ...across(at) }}
      >
        {items.map(({ icon, label: name, act, danger }) => (
          <button
            key={name}
            type="button"
            role="menuitem"
            class={danger ? 'danger' : ''}
            onClick={() => {
              // A dialog that this opens gives the keyboard back to where it was before the menu.
              before.current?.focus();
              onClose();
              act();
            }}
          >
            <Icon name={icon} />
            {name}
          </button>
        ))}
      </div>
    </>
  );
}

/** Beside a name that is not sealed. */
export function PlainName({ hint }: { hint: string }) {
  return (
    <span class="badge" title={hint}>
      {text.list.unverified}
    </span>
  );
}

export function Spinner({ label }: { label: string }) {
  return (
    <div class="spinner" role="status">
      <span class="spinner-ring" />
      <span>{label}</span>
    </div>
  );
}

/** A message in the middle of an empty place, with what can be done. */
export function EmptyState({
  icon,
  title,
  children,
}: {
  icon: IconName;
  title: string;
  children?: ComponentChildren;
}) {
  return (
    <div class="empty-state">
      <span class="empty-state-icon">
        <Icon name={icon} size={36} />
      </span>
      <h2 dir="auto">{title}</h2>
      {children}
    </div>
  );
}
