/** What others share with this account: from whom, and what is in it. What is wrong with one of them is said there, and keeps nobody from the others. */
import { useEffect } from 'preact/hooks';
import type { Fault, ListedReceived, SharedFiles } from '../core/bridge/calls.ts';
import { AskingButton } from '../core/controls/asking.tsx';
import { IconButton, Placard, Spinner } from '../core/controls/controls.tsx';
import { bytes, fullDate } from '../core/format.ts';
import { explain, text } from '../core/text/index.ts';
import { dialog } from '../files/actions.ts';
import { filter } from '../files/file-list.ts';
import { look, lookAway, opened, putAway, readReceived, received, receivedFault } from './received.ts';
import { SharedFileList } from './shared-files.tsx';
import { here, whyNot, words } from './text/index.ts';

const said = words.received;

function factsOf({ from, files, size, madeAt, expiresAt, downloadsLeft, missing, problem }: ListedReceived) {
  return [
    said.from(from),
    problem ? text.list.count(files) : `${text.list.count(files)}, ${bytes(size)}`,
    fullDate(madeAt),
    expiresAt !== null && text.shared.until(fullDate(expiresAt)),
    downloadsLeft !== null && said.left(downloadsLeft),
    missing > 0 && said.missing(missing),
  ]
    .filter(Boolean)
    .join(' · ');
}

function Why({ from, fault }: { from: string; fault: Fault }) {
  return (
    <div class="received-why" role="alert">
      <p>{whyNot(from, fault)}</p>
      {fault.code === 'contact-changed' && (
        <button
          type="button"
          class="button"
          onClick={() => {
            dialog.value = { kind: 'contacts', of: from };
          }}
        >
          {said.changedNext}
        </button>
      )}
    </div>
  );
}

function Inside({ share: { from, title }, now }: { share: ListedReceived; now: SharedFiles | Fault | null }) {
  if (!now) return <Spinner label={text.preview.opening} />;
  if ('code' in now) return <Why from={from} fault={now} />;
  return (
    <div class="received-files">
      {now.note !== undefined && (
        <blockquote dir="auto" aria-label={said.note}>
          {now.note}
        </blockquote>
      )}
      <SharedFileList items={now.items} name={title || from} />
    </div>
  );
}

function Line({ share }: { share: ListedReceived }) {
  const { id, from, compared, problem } = share;
  const name = share.title || said.unnamed;
  const isOpen = opened.value.has(id);
  return (
    <li class="received">
      <div class="device-words">
        <bdi>{name}</bdi>
        <span class={`badge ${problem ? 'bad' : compared ? 'own' : ''}`}>
          {problem ? said.notTrusted : compared ? said.compared : said.notCompared}
        </span>
        <span class="hint">{factsOf(share)}</span>
      </div>
      {!problem && (
        <IconButton
          icon={isOpen ? 'up' : 'down'}
          label={isOpen ? said.hide(name) : said.show(name)}
          expanded={isOpen}
          onClick={() => (isOpen ? lookAway(id) : void look(id))}
        />
      )}
      <AskingButton
        icon="close"
        label={said.putAwayOf(name)}
        question={{
          title: said.putAwayTitle,
          names: [name],
          body: said.putAwayBody,
          act: said.putAway,
          onAct: () => void putAway(id),
        }}
      />
      {problem && <Why from={from} fault={problem} />}
      {isOpen && !problem && <Inside share={share} now={opened.value.get(id) ?? null} />}
    </li>
  );
}

function All() {
  const all = received.value;
  if (receivedFault.value && !all) {
    return (
      <Placard icon="warning" title={explain(receivedFault.value, here())}>
        <button type="button" class="button" onClick={() => void readReceived()}>
          {text.list.retry}
        </button>
      </Placard>
    );
  }
  if (!all) return <Spinner label={text.account.loading} />;
  if (all.length === 0) {
    const wanted = filter.value.trim();
    return wanted === '' ? (
      <Placard icon="person" title={said.empty}>
        <p>{said.emptyBody}</p>
      </Placard>
    ) : (
      <Placard icon="search" title={text.list.noMatch(wanted)} />
    );
  }
  return (
    <ul class="devices" aria-label={said.list}>
      {all.map((share) => (
        <Line key={share.id} share={share} />
      ))}
    </ul>
  );
}

export function ReceivedList() {
  useEffect(() => void readReceived(), []);
  return (
    <div class="shared-links">
      <button
        type="button"
        class="button"
        onClick={() => {
          dialog.value = { kind: 'contacts' };
        }}
      >
        {words.contacts.title}
      </button>
      <All />
    </div>
  );
}
