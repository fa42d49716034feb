/** The list of shares from other accounts. A problem with one share shows in its row and does not affect the others. */
import type { ReceivedRow, SharedFiles } from '../core/bridge/calls.ts';
import type { Fault } from '../core/bridge/messages.ts';
import { Button, IconButton, Spinner } from '../core/controls/controls.tsx';
import { AskingButton, ListRow } from '../core/controls/list-row.tsx';
import { bytes, fullDate } from '../core/format.ts';
import { setTo } from '../core/signals.ts';
import { text } from '../core/text/index.ts';
import { dialog } from '../files/actions.ts';
import { closeShare, openShare, openShares, received, removeReceived } from './received.ts';
import { RemoteListView } from './remote-list-view.tsx';
import { SharedFileList } from './shared-files.tsx';
import { explainShare, words as sharing } from './text/index.ts';

const words = sharing.received;

function ShareProblem({ from, fault }: { from: string; fault: Fault }) {
  return (
    <div class="received-why" role="alert">
      <p>{explainShare(from, fault)}</p>
      {fault.code === 'contact-changed' && (
        <Button label={words.changedNext} onClick={setTo(dialog, { kind: 'contacts', username: from })} />
      )}
    </div>
  );
}

function ShareContent({ share, content }: { share: ReceivedRow; content: SharedFiles | Fault | null }) {
  const { from, title } = share;
  if (!content) return <Spinner label={text.preview.opening} />;
  if ('code' in content) return <ShareProblem from={from} fault={content} />;
  return (
    <div class="received-files">
      {content.note !== undefined && (
        <blockquote dir="auto" aria-label={words.note}>
          {content.note}
        </blockquote>
      )}
      <SharedFileList items={content.items} name={title || from} />
    </div>
  );
}

function Row({ share }: { share: ReceivedRow }) {
  const { id, from, verified, problem, files, size, expiresAt, downloadsLeft, missing } = share;
  const name = share.title || words.unnamed;
  const isOpen = openShares.value.has(id);
  return (
    <ListRow
      class="received"
      name={name}
      badges={
        <span class={`badge ${problem ? 'bad' : verified ? 'own' : ''}`}>
          {problem ? words.notTrusted : verified ? words.verified : words.notVerified}
        </span>
      }
      facts={[
        words.from(from),
        problem ? text.list.count(files) : `${text.list.count(files)}, ${bytes(size)}`,
        fullDate(share.madeAt ?? share.createdAt),
        expiresAt !== null && text.shared.until(fullDate(expiresAt)),
        downloadsLeft !== null && words.left(downloadsLeft),
        missing > 0 && words.missing(missing),
      ]}
    >
      {!problem && (
        <IconButton
          icon={isOpen ? 'up' : 'down'}
          label={isOpen ? words.hide(name) : words.show(name)}
          expanded={isOpen}
          onClick={() => (isOpen ? closeShare(id) : void openShare(id))}
        />
      )}
      <AskingButton
        icon="close"
        label={words.removeOf(name)}
        question={{
          title: words.removeTitle,
          names: [name],
          body: words.removeBody,
          act: words.remove,
          onAct: () => void removeReceived(id),
        }}
      />
      {problem && <ShareProblem from={from} fault={problem} />}
      {isOpen && !problem && <ShareContent share={share} content={openShares.value.get(id) ?? null} />}
    </ListRow>
  );
}

export function ReceivedList() {
  return (
    <div class="shared-links">
      <Button label={sharing.contacts.title} onClick={setTo(dialog, { kind: 'contacts' })} />
      <RemoteListView list={received} empty={{ icon: 'person', title: words.empty, body: words.emptyBody }}>
        {(rows) => (
          <ul class="devices" aria-label={words.list}>
            {rows.map((share) => (
              <Row key={share.id} share={share} />
            ))}
          </ul>
        )}
      </RemoteListView>
    </div>
  );
}
