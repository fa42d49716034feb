/** The links and shares of the account, with its file requests above them. */
import type { LinkRow } from '../core/bridge/calls.ts';
import { IconButton } from '../core/controls/controls.tsx';
import { ListRow, ProblemBadge } from '../core/controls/list-row.tsx';
import { bytes, fullDate } from '../core/format.ts';
import { text } from '../core/text/index.ts';
import { dialog } from '../files/actions.ts';
import { copyLink, endLink, links } from './links.ts';
import { RemoteListView } from './remote-list-view.tsx';
import { RequestList } from './request-list.tsx';
import { requests } from './requests.ts';
import { words as sharing } from './text/index.ts';

const words = text.shared;

function Row({ link }: { link: LinkRow }) {
  const { title, note, ended, problem, to, link: address } = link;
  const name = title || words.unnamed;
  const isActive = ended === null;
  const endLabel = () => (to === undefined ? words.endOf(name) : words.endShareOf(name, to));
  const end = () => {
    if (isActive) dialog.value = { kind: 'end-link', link };
    else void endLink(link);
  };
  return (
    <ListRow
      name={name}
      note={note}
      badges={
        <>
          {ended !== null && <span class="badge">{words.over[ended]}</span>}
          {problem && <ProblemBadge />}
        </>
      }
      facts={[
        to !== undefined && words.to(to),
        `${text.list.count(link.files)}, ${bytes(link.size)}`,
        words.downloads(link.downloaded, link.downloads),
        link.expiresAt === null ? words.endless : words.until(fullDate(link.expiresAt)),
        link.hasPassphrase && words.passphrase,
        link.missing > 0 && words.missing(link.missing),
      ]}
    >
      {address && isActive && (
        <IconButton icon="copy" label={words.copyOf(name)} onClick={() => void copyLink(address)} />
      )}
      <IconButton
        icon={isActive ? 'trash' : 'close'}
        class={isActive ? 'danger' : ''}
        label={isActive ? endLabel() : words.removeOf(name)}
        onClick={end}
      />
    </ListRow>
  );
}

export function LinkList() {
  const { requests: own = [], deliveries = [] } = requests.shown.value ?? {};
  const isAlone = own.length + deliveries.length === 0;
  return (
    <div class="shared-links">
      <RequestList />
      <RemoteListView
        list={links}
        empty={isAlone ? { icon: 'link', title: words.empty, body: words.emptyBody } : null}
      >
        {(rows) => (
          <section>
            <h2>{sharing.links}</h2>
            <ul class="devices" aria-label={words.title}>
              {rows.map((link) => (
                <Row key={link.id} link={link} />
              ))}
            </ul>
          </section>
        )}
      </RemoteListView>
    </div>
  );
}
