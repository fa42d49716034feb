/** What the account asks others for, and what came: it is nobody's file before it is taken over. */
import { useSignal } from '@preact/signals';
import { displayName } from '@szafa/client';
import { useEffect } from 'preact/hooks';
import type { ListedDelivery, ListedRequest } from '../core/bridge/calls.ts';
import { AskingButton } from '../core/controls/asking.tsx';
import { IconButton } from '../core/controls/controls.tsx';
import { Icon } from '../core/controls/icon.tsx';
import { bytes, fullDate } from '../core/format.ts';
import { explain, text } from '../core/text/index.ts';
import { FolderPicker } from '../files/dialogs/choose-folder.tsx';
import { copyLink } from './links.ts';
import { RequestDialog } from './request-dialog.tsx';
import { asked, askedFault, dropDelivery, endRequest, readAsked, takeOver, working } from './requests.ts';
import { words } from './text/index.ts';

const said = words.asks;

const folderName = (path: string) => displayName(path) || text.places.all;

export function Problem() {
  return (
    <span class="badge bad" title={text.list.problemHint}>
      {text.list.problem}
    </span>
  );
}

function Request({ request }: { request: ListedRequest }) {
  const { folder, note, ended, link, problem, files, delivered, deliveredBytes, bytes: most } = request;
  const name = folderName(folder);
  const end = () => void endRequest(request);
  const facts = [
    said.came(delivered, files),
    `${bytes(deliveredBytes)} / ${bytes(most)}`,
    request.uploading > 0 && said.coming(request.uploading),
    request.expiresAt !== null && text.shared.until(fullDate(request.expiresAt)),
  ];
  return (
    <li>
      <div class="device-words">
        <bdi>{problem ? text.shared.unnamed : name}</bdi>
        {ended !== null && <span class="badge">{said.over[ended]}</span>}
        {problem && <Problem />}
        <span class="hint">{facts.filter(Boolean).join(' · ')}</span>
        {note !== undefined && (
          <span class="hint" dir="auto">
            {note}
          </span>
        )}
      </div>
      {link && ended === null && (
        <IconButton icon="copy" label={said.copyOf(name)} onClick={() => void copyLink(link)} />
      )}
      {ended === null ? (
        <AskingButton
          icon="trash"
          class="danger"
          label={said.endOf(name)}
          question={{ title: said.endTitle, names: [name], body: said.endBody, act: said.end, onAct: end }}
        />
      ) : (
        <IconButton icon="close" label={text.shared.dropOf(name)} onClick={end} />
      )}
    </li>
  );
}

function Came({ delivery }: { delivery: ListedDelivery }) {
  const choosing = useSignal(false);
  const { name, size, createdAt, folder, problem } = delivery;
  // The server failed to give it, which says nothing about the file: nobody is led to delete it.
  const isUnread = problem === 'api';
  const close = () => {
    choosing.value = false;
  };
  return (
    <li>
      <div class="device-words">
        <bdi>{problem ? text.shared.unnamed : name}</bdi>
        {problem && (isUnread ? <span class="badge">{text.status[500]}</span> : <Problem />)}
        <span class="hint">
          {[bytes(size), fullDate(createdAt), folder !== undefined && said.into(folderName(folder))]
            .filter(Boolean)
            .join(' · ')}
        </span>
      </div>
      {!problem && (
        <IconButton
          icon="move"
          label={said.takeOf(name)}
          disabled={working.value}
          onClick={() => {
            choosing.value = true;
          }}
        />
      )}
      {!isUnread && (
        <AskingButton
          icon="trash"
          class="danger"
          label={said.dropOf(name)}
          disabled={working.value}
          question={{
            title: said.dropTitle,
            names: [name],
            body: said.dropBody,
            act: said.drop,
            onAct: () => void dropDelivery(delivery),
          }}
        />
      )}
      {choosing.value && (
        <FolderPicker
          title={said.takeOf(name)}
          home={folder ?? ''}
          act={said.take}
          onClose={close}
          onChoose={(path) => {
            close();
            void takeOver([delivery], path);
          }}
        />
      )}
    </li>
  );
}

function Deliveries({ all }: { all: ListedDelivery[] }) {
  // Those whose request nobody knows any more need a folder of their own.
  const placed = all.filter(({ folder, problem }) => folder !== undefined && !problem);
  return (
    <section>
      <h2>{said.deliveries}</h2>
      <p class="hint">{said.deliveriesHint}</p>
      {placed.length > 0 && (
        <button
          type="button"
          class="button"
          disabled={working.value}
          onClick={() => void takeOver(placed, null)}
        >
          <Icon name="check" />
          {said.takeAll(placed.length)}
        </button>
      )}
      <ul class="devices" aria-label={said.deliveries}>
        {all.map((delivery) => (
          <Came key={delivery.fileId} delivery={delivery} />
        ))}
      </ul>
    </section>
  );
}

export function Requests() {
  const making = useSignal(false);
  useEffect(() => void readAsked(), []);
  const { requests = [], deliveries = [] } = asked.value ?? {};
  return (
    <>
      <button
        type="button"
        class="button"
        onClick={() => {
          making.value = true;
        }}
      >
        <Icon name="plus" />
        {said.ask}
      </button>
      {askedFault.value && <p role="alert">{explain(askedFault.value)}</p>}
      {deliveries.length > 0 && <Deliveries all={deliveries} />}
      {requests.length > 0 && (
        <section>
          <h2>{said.requests}</h2>
          <ul class="devices" aria-label={said.requests}>
            {requests.map((request) => (
              <Request key={request.id} request={request} />
            ))}
          </ul>
        </section>
      )}
      {making.value && (
        <RequestDialog
          onClose={() => {
            making.value = false;
          }}
        />
      )}
    </>
  );
}
