import { leave } from '../accounts/session.ts';
import type { Item } from '../core/bridge/calls.ts';
import { Confirm } from '../core/controls/confirm.tsx';
import { text } from '../core/text/index.ts';
import { closeDialog as close, dialog } from '../files/actions.ts';
import { MakeFolder, Rename } from '../files/dialogs/name-dialogs.tsx';
import { shownFiles } from '../files/list/layout.ts';
import { deleteForever } from '../files/operations.ts';
import { Preview } from '../files/preview/preview.tsx';
import { endLink } from '../sharing/links.ts';
import { About, AccountPanel, ChooseFolder, Contacts, Settings, ShareDialog, Versions } from './lazy.tsx';

function previewed(): Item | undefined {
  const now = dialog.peek();
  return now?.kind === 'preview' ? now.item : undefined;
}

export function Dialogs() {
  const now = dialog.value;
  switch (now?.kind) {
    case 'remove':
      return (
        <Confirm
          title={now.all ? `${text.trash.emptyNow}?` : text.remove.title(now.items.length)}
          body={text.remove.body}
          names={now.items.map(({ name }) => name)}
          act={text.remove.do}
          onAct={() => void deleteForever(now.items)}
          onClose={close}
        />
      );
    case 'leave':
      return (
        <Confirm
          title={text.leave.title}
          body={text.leave.body(now.uploads.length, now.downloads.length)}
          names={[...now.uploads, ...now.downloads]}
          act={text.bar.signOut}
          onAct={() => void leave()}
          onClose={close}
        />
      );
    case 'share':
      return <ShareDialog rows={now.rows} />;
    case 'end-link':
      return (
        <Confirm
          title={now.link.to === undefined ? text.shared.endTitle : text.shared.endShareTitle(now.link.to)}
          body={text.shared.endBody}
          names={[now.link.title]}
          act={text.shared.end}
          onAct={() => void endLink(now.link)}
          onClose={close}
        />
      );
    case 'move':
    case 'copy':
      return <ChooseFolder kind={now.kind} rows={now.rows} />;
    case 'make-folder':
      return <MakeFolder within={now.within} />;
    case 'rename':
      return <Rename row={now.row} />;
    case 'versions':
      return <Versions item={now.item} />;
    case 'account':
      return <AccountPanel />;
    case 'contacts':
      return <Contacts username={now.username} />;
    case 'settings':
      return <Settings />;
    case 'about':
      return <About />;
    case 'preview':
      return (
        <Preview
          item={now.item}
          among={shownFiles.value}
          now={previewed}
          onShow={(item) => {
            dialog.value = { kind: 'preview', item };
          }}
          onClose={close}
        />
      );
    default:
      return null;
  }
}
