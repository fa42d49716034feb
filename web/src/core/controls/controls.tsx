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
  /** Screen readers read this instead of the label. */
  name?: string;
  disabled?: boolean;
  /** Use it instead of `disabled` while working: a disabled button loses the focus. */
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

/** The browser's own dialog, which traps the focus and closes on Escape. */
export function Modal({ title, onClose, children, class: extra = '' }: ModalProps) {
  const element = useRef<HTMLDialogElement>(null);
  // A layout effect, so that the first key pressed after the dialog shows goes to the dialog.
  useLayoutEffect(() => {
    const shown = element.current!;
    shown.showModal();
    // The browser restores the focus only if the dialog closes while it is still in the document.
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
  /** Without it, the button submits the form. */
  onAct?(): void;
  danger?: boolean | undefined;
  disabled?: boolean;
  /** Set it instead of `disabled` while the form is being sent: a disabled button loses the focus. */
  isBusy?: boolean;
  children?: ComponentChildren;
}

/** Footer of a dialog or form, always visible: the error, Cancel, and the action. */
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
  /** Window coordinates: the right edge below a button, or the left edge at the pointer. */
  at: MenuPlace;
  onClose(): void;
}

export type MenuPlace = { top: number } & ({ right: number } | { left: number });

const MENU_WIDTH = 240;

/** Returns the horizontal position, clamped to the window. */
function across(at: MenuPlace): { right: string } | { left: string } {
  if ('right' in at) return { right: `${at.right}px` };
  return { left: `${Math.max(8, Math.min(at.left, globalThis.innerWidth - MENU_WIDTH))}px` };
}

/** Returns the place below a button, aligned to its right edge. */
export function below(button: Element): MenuPlace {
  const box = button.getBoundingClientRect();
  return { right: globalThis.innerWidth - box.right, top: box.bottom + 4 };
}

export function Menu({ label, items, at, onClose }: MenuProps) {
  const element = useRef<HTMLDivElement>(null);
  const before = useRef(document.activeElement as HTMLElement | null);
  // A layout effect, so that the first key pressed after the menu shows goes to the menu.
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
              // If `act` opens a dialog, closing it returns the focus here and not to the removed menu.
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

/** Badge of a name that is not sealed, so the server could have changed it. */
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

/** A centered message for an empty view; the children offer actions. */
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
