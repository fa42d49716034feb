/** Common parts of the dialogs for links and file requests. */
import type { ComponentChildren } from 'preact';
import type { NewLink } from '../core/bridge/calls.ts';
import { Button } from '../core/controls/controls.tsx';
import { QrCode } from '../core/controls/qr-code.tsx';
import { text } from '../core/text/index.ts';
import { copyLink } from './links.ts';

const DAY_MS = 86_400_000;

export type Expiry = '1' | '7' | '30' | '365' | 'never';

/** Returns when a link created now expires. */
export const expiresIn = (days: Exclude<Expiry, 'never'>) => Date.now() + Number(days) * DAY_MS;

export const noteOf = (typed: string) => (typed.trim() === '' ? {} : { note: typed.trim() });

export function CloseFoot({ onClose }: { onClose(): void }) {
  return (
    <footer class="modal-foot">
      <Button label={text.actions.close} onClick={onClose} />
    </footer>
  );
}

interface NewLinkViewProps {
  made: NewLink;
  /** Says what the link gives access to. */
  what: string;
  children: ComponentChildren;
  onClose(): void;
}

/** Shows a new link, to be copied or scanned. */
export function NewLinkView({ made, what, children, onClose }: NewLinkViewProps) {
  return (
    <>
      <p>{what}</p>
      <code class="shared-link">{made.link}</code>
      <Button class="primary wide" icon="copy" label={text.share.copy} onClick={() => copyLink(made.link)} />
      <QrCode modules={made.qrCode} label={text.share.qrCode} />
      {children}
      <CloseFoot onClose={onClose} />
    </>
  );
}
