/** The page behind a link: its files, or why they cannot be opened and what to do. */
import { useSignal } from '@preact/signals';
import { displayName } from '@szafa/client';
import type { ComponentChildren } from 'preact';
import type { SharedItem } from '../core/bridge/calls.ts';
import { Spinner } from '../core/controls/controls.tsx';
import { FormTrouble } from '../core/controls/faults.tsx';
import { Form, Secret, Submit, useForm } from '../core/controls/form.tsx';
import { Notices } from '../core/controls/notices.tsx';
import { bytes, fullDate } from '../core/format.ts';
import { text } from '../core/text/index.ts';
import { isReadable, SharedFileList, topOf } from '../sharing/shared-files.tsx';
import { words as said } from '../sharing/text/visitor.ts';
import { LinkFailed, VisitorFoot, VisitorHead } from '../sharing/visitor-frame.tsx';
import { TransferPanel } from '../transfers/transfer-panel.tsx';
import { begin, open, shown, visited } from './visit.ts';

const words = text.visitor;

function titleOf(items: readonly SharedItem[]): string {
  if (items.length === 1) return items[0]!.name;
  return displayName(topOf(items)) || text.list.count(items.filter(({ isFolder }) => !isFolder).length);
}

/** The expiry of the link, and the number of downloads left. */
function Terms() {
  const { expiresAt = null, downloadsLeft = null } = visited.value ?? {};
  return (
    <>
      {expiresAt !== null && <p>{said.until(fullDate(expiresAt))}</p>}
      {downloadsLeft !== null && <p>{downloadsLeft > 0 ? said.left(downloadsLeft) : said.last}</p>}
    </>
  );
}

function Files({ items, note }: { items: SharedItem[]; note?: string | undefined }) {
  const files = items.filter(isReadable);
  const size = files.reduce((sum, file) => sum + file.size, 0);
  return (
    <section class="visitor-card">
      <h1 dir="auto">{titleOf(items)}</h1>
      <div class="visitor-facts">
        <p>
          {text.list.count(files.length)} · {bytes(size)}
        </p>
        <Terms />
      </div>
      {note !== undefined && (
        <blockquote dir="auto" aria-label={words.note}>
          {note}
        </blockquote>
      )}
      <SharedFileList items={items} />
    </section>
  );
}

function Locked() {
  const passphrase = useSignal('');
  const form = useForm(() => open(passphrase.value));
  return (
    <Form form={form} class="visitor-card" label={said.locked} fields={{ 'wrong-passphrase': 'passphrase' }}>
      <h1>{said.locked}</h1>
      <p>{said.lockedWhy}</p>
      <Terms />
      <Secret label={words.passphrase} name="passphrase" autocomplete="off" value={passphrase} />
      <FormTrouble />
      <Submit form={form} class="primary wide" label={words.open} busy={text.preview.opening} />
    </Form>
  );
}

function Inside(): ComponentChildren {
  const now = shown.value;
  switch (now.at) {
    case 'opening':
      return <Spinner label={words.opening} />;
    case 'locked':
      return <Locked />;
    case 'fault':
      return <LinkFailed fault={now.fault} onRetry={() => void begin()} />;
    default:
      return <Files items={now.items} note={now.note} />;
  }
}

export function VisitorPage() {
  return (
    <>
      <main class="visitor">
        <VisitorHead title={words.title} />
        <Inside />
        <TransferPanel />
        <VisitorFoot lines={said.trust} />
      </main>
      <Notices />
    </>
  );
}
