/** Rarely used components, loaded when they are first shown. */

import { type Signal, signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { serverAnswers } from '../core/connection.ts';
import { Button, EmptyState, Modal, Spinner } from '../core/controls/controls.tsx';
import { setTo, writeTo } from '../core/signals.ts';
import { text } from '../core/text/index.ts';
import { closeDialog } from '../files/actions.ts';

function lazy<P extends object>(load: () => Promise<ComponentType<P>>, isDialog = false): ComponentType<P> {
  const loaded: Signal<ComponentType<P> | 'failed' | null> = signal(null);
  let loading: Promise<void> | undefined;
  const begin = () => {
    loaded.value = null;
    loading = load().then(writeTo(loaded), setTo(loaded, 'failed'));
  };
  const again = async () => {
    begin();
    await loading;
    // A reload helps if the browser has cached the failure, or if the server was updated and the file is gone.
    if (loaded.value === 'failed' && (await serverAnswers())) globalThis.location.reload();
  };
  return function Lazy(props: P) {
    const Part = loaded.value;
    if (Part === 'failed') {
      const title = text.codes['part-missing'];
      const button = <Button label={text.list.retry} onClick={again} />;
      return isDialog ? (
        <Modal title={title} onClose={closeDialog}>
          <footer class="modal-foot">{button}</footer>
        </Modal>
      ) : (
        <EmptyState icon="warning" title={title}>
          {button}
        </EmptyState>
      );
    }
    if (Part) return <Part {...props} />;
    if (!loading) begin();
    return <Spinner label={text.preview.opening} />;
  };
}

export const About = lazy(async () => (await import('./about.tsx')).About, true);
export const AccountPanel = lazy(
  async () => (await import('../accounts/account-panel.tsx')).AccountPanel,
  true,
);
export const ChooseFolder = lazy(
  async () => (await import('../files/dialogs/choose-folder.tsx')).ChooseFolder,
  true,
);
export const Contacts = lazy(async () => (await import('../sharing/contacts.tsx')).Contacts, true);
export const ReceivedList = lazy(async () => (await import('../sharing/received-list.tsx')).ReceivedList);
export const RecoveryKey = lazy(async () => (await import('../accounts/recovery-key.tsx')).RecoveryKey);
export const Settings = lazy(async () => (await import('./settings.tsx')).Settings, true);
export const ShareDialog = lazy(async () => (await import('../sharing/share-dialog.tsx')).ShareDialog, true);
export const LinkList = lazy(async () => (await import('../sharing/link-list.tsx')).LinkList);
export const Versions = lazy(async () => (await import('../files/dialogs/versions.tsx')).Versions, true);
