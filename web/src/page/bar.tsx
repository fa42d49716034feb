import { type Signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { account } from '../accounts/session.ts';
import { below, IconButton, Menu, type MenuPlace } from '../core/controls/controls.tsx';
import { Icon } from '../core/controls/icon.tsx';
import { notifyError } from '../core/notices.ts';
import { boundTo, setTo } from '../core/signals.ts';
import { text } from '../core/text/index.ts';
import { askToSignOut, dialog } from '../files/actions.ts';
import { filter } from '../files/file-list.ts';

/** Opens the list of keyboard shortcuts on "?". */
function onHelp(event: KeyboardEvent): void {
  const busy = (event.target as Element).closest?.(
    'input:not([type=checkbox]), select, textarea, [role=menu]',
  );
  if (event.key !== '?' || busy || dialog.value) return;
  dialog.value = { kind: 'about' };
  event.preventDefault();
}

export function Bar({ drawer }: { drawer: Signal<boolean> }) {
  const menu = useSignal<MenuPlace | null>(null);
  const name = account.value?.username ?? '';
  useEffect(() => {
    document.addEventListener('keydown', onHelp);
    return () => document.removeEventListener('keydown', onHelp);
  }, []);
  return (
    <header class="bar">
      <IconButton
        icon="menu"
        class="only-narrow"
        label={text.bar.menu}
        expanded={drawer.value}
        onClick={setTo(drawer, !drawer.value)}
      />
      <span class="brand">
        <Icon name="wardrobe" size={26} />
        <span class="brand-name">{text.name}</span>
      </span>
      <search class="filter">
        <Icon name="search" />
        <input
          id="filter"
          type="search"
          placeholder={text.bar.filter}
          aria-label={text.bar.filter}
          autocomplete="off"
          spellcheck={false}
          {...boundTo(filter)}
          onKeyDown={(event) => {
            if (event.key !== 'Escape') return;
            filter.value = '';
            event.currentTarget.blur();
          }}
        />
        {filter.value && <IconButton icon="close" label={text.bar.clearFilter} onClick={setTo(filter, '')} />}
      </search>
      <button
        type="button"
        class="avatar"
        aria-label={`${text.bar.account}: ${name}`}
        aria-haspopup="menu"
        aria-expanded={menu.value !== null}
        onClick={(event) => {
          menu.value = below(event.currentTarget);
        }}
      >
        {name.slice(0, 1).toUpperCase()}
      </button>
      {menu.value && (
        <Menu
          label={`${text.bar.account}: ${name}`}
          at={menu.value}
          onClose={setTo(menu, null)}
          items={[
            { icon: 'person', label: text.account.title, act: setTo(dialog, { kind: 'account' }) },
            { icon: 'settings', label: text.bar.settings, act: setTo(dialog, { kind: 'settings' }) },
            { icon: 'info', label: text.bar.about, act: setTo(dialog, { kind: 'about' }) },
            { icon: 'leave', label: text.bar.signOut, act: () => void askToSignOut().catch(notifyError) },
          ]}
        />
      )}
    </header>
  );
}
