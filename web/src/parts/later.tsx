/** Parts that few visits need: each is loaded when it is first shown. */
import { type Signal, signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { tell } from '../page/notices.ts';
import { text } from '../text.ts';
import { Spinner } from './controls.tsx';

function later<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  const loaded: Signal<ComponentType<P> | null> = signal(null);
  let loading = false;
  return function Later(props: P) {
    const Part = loaded.value;
    if (Part) return <Part {...props} />;
    if (!loading) {
      loading = true;
      load().then(
        (part) => {
          loaded.value = part;
        },
        () => {
          loading = false;
          tell(text.codes['part-missing'], true);
        },
      );
    }
    return <Spinner label={text.preview.opening} />;
  };
}

export const AccountPanel = later(async () => (await import('./account-panel.tsx')).AccountPanel);
export const ChooseFolder = later(async () => (await import('./choose-folder.tsx')).ChooseFolder);
export const Contacts = later(async () => (await import('./contacts.tsx')).Contacts);
export const ReceivedList = later(async () => (await import('./received-list.tsx')).ReceivedList);
export const ShareDialog = later(async () => (await import('./share-dialog.tsx')).ShareDialog);
export const SharedList = later(async () => (await import('./shared-list.tsx')).SharedList);
export const Versions = later(async () => (await import('./versions.tsx')).Versions);
