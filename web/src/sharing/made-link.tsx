/** A link that was just made: to read, to copy, to scan. */
import type { MadeLink as Link } from '../core/bridge/calls.ts';
import { Icon } from '../core/controls/icon.tsx';
import { QrCode } from '../core/controls/qr-code.tsx';
import { text } from '../core/text/index.ts';
import { copyLink } from './links.ts';

export function MadeLink({ made }: { made: Link }) {
  return (
    <>
      <code class="shared-link">{made.link}</code>
      <button type="button" class="button primary wide" onClick={() => void copyLink(made.link)}>
        <Icon name="copy" />
        {text.share.copy}
      </button>
      <QrCode modules={made.picture} label={text.share.picture} />
    </>
  );
}
