/** What the account shares: what each link holds, how often it was taken, and its end; and what it asks others for. */
import { displayName } from '@szafa/client';
import type { ListedLink } from '../core/bridge/calls.ts';
import { IconButton, Placard, Spinner } from '../core/controls/controls.tsx';
import { bytes, fullDate } from '../core/format.ts';
import { explain, text } from '../core/text/index.ts';
import { dialog } from '../files/actions.ts';
import { filter } from '../files/file-list.ts';
import { copyLink, endLink, links, linksFault, readLinks } from './links.ts';
import { Problem, Requests } from './request-list.tsx';
import { asked } from './requests.ts';
import { words as sharing } from './text/index.ts';

function factsOf(link: ListedLink): string {
  const { to, files, size, downloaded, downloads, expiresAt, hasPassphrase, missing } = link;
  const words = text.shared;
  return [
    to !== undefined && words.to(displayName(to)),
    `${text.list.count(files)}, ${bytes(size)}`,
    words.downloads(downloaded, downloads),
    expiresAt === null ? words.endless : words.until(fullDate(expiresAt)),
    hasPassphrase && words.passphrase,
    missing > 0 && words.missing(missing),
  ]
    .filter(Boolean)
    .join(' · ');
}

function Line({ link }: { link: ListedLink }) {
  const words = text.shared;
  const { title, note, ended, problem, to, link: address } = link;
  const name = title || words.unnamed;
  const endWords = () => (to === undefined ? words.endOf(name) : words.endShareOf(name, displayName(to)));
  const end = () => {
    if (ended === null) dialog.value = { kind: 'end-link', link };
    else void endLink(link);
  };
  return (
    <li>
      <div class="device-words">
        <bdi>{name}</bdi>
        {ended !== null && <span class="badge">{words.over[ended]}</span>}
        {problem && <Problem />}
        <span class="hint">{factsOf(link)}</span>
        {note !== undefined && (
          <span class="hint" dir="auto">
            {note}
          </span>
        )}
      </div>
      {address && ended === null && (
        <IconButton icon="copy" label={words.copyOf(name)} onClick={() => void copyLink(address)} />
      )}
      <IconButton
        icon={ended === null ? 'trash' : 'close'}
        class={ended === null ? 'danger' : ''}
        label={ended === null ? endWords() : words.dropOf(name)}
        onClick={end}
      />
    </li>
  );
}

function Links() {
  const all = links.value;
  const words = text.shared;
  if (linksFault.value) {
    return (
      <Placard icon="warning" title={explain(linksFault.value)}>
        <button type="button" class="button" onClick={() => void readLinks()}>
          {text.list.retry}
        </button>
      </Placard>
    );
  }
  if (!all) return <Spinner label={text.account.loading} />;
  if (all.length === 0) {
    const wanted = filter.value.trim();
    const { requests = [], deliveries = [] } = asked.value ?? {};
    if (requests.length + deliveries.length > 0) return null;
    return wanted === '' ? (
      <Placard icon="link" title={words.empty}>
        <p>{words.emptyBody}</p>
      </Placard>
    ) : (
      <Placard icon="search" title={text.list.noMatch(wanted)} />
    );
  }
  return (
    <section>
      <h2>{sharing.asks.links}</h2>
      <ul class="devices" aria-label={words.title}>
        {all.map((link) => (
          <Line key={link.id} link={link} />
        ))}
      </ul>
    </section>
  );
}

export function SharedList() {
  return (
    <div class="shared-links">
      <Requests />
      <Links />
    </div>
  );
}
