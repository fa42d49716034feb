/** The file requests of the account and their deliveries, which become files only when they are saved. */
import { useSignal } from '@preact/signals';
import { displayName } from '@szafa/client';
import type { DeliveryRow, RequestRow } from '../core/bridge/calls.ts';
import { Button, IconButton } from '../core/controls/controls.tsx';
import { AskingButton, ListRow, ProblemBadge } from '../core/controls/list-row.tsx';
import { bytes, fullDate } from '../core/format.ts';
import { setTo } from '../core/signals.ts';
import { explain, text } from '../core/text/index.ts';
import { FolderPicker } from '../files/dialogs/choose-folder.tsx';
import { copyLink } from './links.ts';
import { RequestDialog } from './request-dialog.tsx';
import { deleteDelivery, endRequest, requests, saveDeliveries, working } from './requests.ts';
import { words as sharing } from './text/index.ts';

const words = sharing.requests;

const folderName = (path: string) => displayName(path) || text.places.all;

function Request({ request }: { request: RequestRow }) {
  const { folder, ended, link, problem, expiresAt } = request;
  const name = folderName(folder);
  const end = () => void endRequest(request);
  return (
    <ListRow
      name={problem ? text.shared.unnamed : name}
      note={request.note}
      badges={
        <>
          {ended !== null && <span class="badge">{words.over[ended]}</span>}
          {problem && <ProblemBadge />}
        </>
      }
      facts={[
        words.received(request.delivered, request.files),
        `${bytes(request.deliveredBytes)} / ${bytes(request.bytes)}`,
        request.uploading > 0 && words.uploading(request.uploading),
        expiresAt !== null && text.shared.until(fullDate(expiresAt)),
      ]}
    >
      {link && ended === null && (
        <IconButton icon="copy" label={words.copyOf(name)} onClick={() => void copyLink(link)} />
      )}
      {ended === null ? (
        <AskingButton
          icon="trash"
          class="danger"
          label={words.endOf(name)}
          question={{ title: words.endTitle, names: [name], body: words.endBody, act: words.end, onAct: end }}
        />
      ) : (
        <IconButton icon="close" label={text.shared.removeOf(name)} onClick={end} />
      )}
    </ListRow>
  );
}

function Delivery({ delivery }: { delivery: DeliveryRow }) {
  const choosing = useSignal(false);
  const { name, size, createdAt, folder, problem } = delivery;
  // The server failed to send the delivery. The file may be fine, so the row must not offer to delete it.
  const isUnread = problem?.code === 'api';
  const close = setTo(choosing, false);
  return (
    <ListRow
      name={problem ? text.shared.unnamed : name}
      badges={problem && (isUnread ? <span class="badge">{text.status[500]}</span> : <ProblemBadge />)}
      facts={[bytes(size), fullDate(createdAt), folder !== undefined && words.into(folderName(folder))]}
    >
      {!problem && (
        <IconButton
          icon="move"
          label={words.saveOf(name)}
          disabled={working.value}
          onClick={setTo(choosing, true)}
        />
      )}
      {!isUnread && (
        <AskingButton
          icon="trash"
          class="danger"
          label={words.deleteOf(name)}
          disabled={working.value}
          question={{
            title: words.deleteTitle,
            names: [name],
            body: words.deleteBody,
            act: words.delete,
            onAct: () => void deleteDelivery(delivery),
          }}
        />
      )}
      {choosing.value && (
        <FolderPicker
          title={words.saveOf(name)}
          home={folder ?? ''}
          act={words.save}
          onClose={close}
          onChoose={(path) => {
            close();
            void saveDeliveries([delivery], path);
          }}
        />
      )}
    </ListRow>
  );
}

function Deliveries({ all }: { all: DeliveryRow[] }) {
  // A delivery whose request is gone has no folder: the user must choose one.
  const placed = all.filter(({ folder, problem }) => folder !== undefined && !problem);
  return (
    <section>
      <h2>{words.deliveries}</h2>
      <p class="hint">{words.deliveriesHint}</p>
      {placed.length > 0 && (
        <Button
          icon="check"
          label={words.saveAll(placed.length)}
          disabled={working.value}
          onClick={() => saveDeliveries(placed, null)}
        />
      )}
      <ul class="devices" aria-label={words.deliveries}>
        {all.map((delivery) => (
          <Delivery key={delivery.fileId} delivery={delivery} />
        ))}
      </ul>
    </section>
  );
}

export function RequestList() {
  const making = useSignal(false);
  const { requests: all = [], deliveries = [] } = requests.shown.value ?? {};
  return (
    <>
      <Button icon="plus" label={words.do} onClick={setTo(making, true)} />
      {requests.fault.value && <p role="alert">{explain(requests.fault.value)}</p>}
      {deliveries.length > 0 && <Deliveries all={deliveries} />}
      {all.length > 0 && (
        <section>
          <h2>{words.title}</h2>
          <ul class="devices" aria-label={words.title}>
            {all.map((request) => (
              <Request key={request.id} request={request} />
            ))}
          </ul>
        </section>
      )}
      {making.value && <RequestDialog onClose={setTo(making, false)} />}
    </>
  );
}
