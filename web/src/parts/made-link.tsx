/** A link that was just made: to read, to copy, to scan. */
import type { MadeLink as Link } from '../bridge.ts';
import { copyLink } from '../page/links.ts';
import { text } from '../text.ts';
import { Icon } from './icon.tsx';
import { QrCode } from './qr-code.tsx';

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
