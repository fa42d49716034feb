import { useSignal } from '@preact/signals';
import type { Item } from '../bridge.ts';
import {
  closeDialog as close,
  copyFiles,
  dialog,
  makeDir,
  moveFiles,
  removeDir,
  removeFiles,
} from '../page/actions.ts';
import { faultOf } from '../page/core.ts';
import { leave } from '../page/session.ts';
import { dirs, go } from '../page/shelf.ts';
import { explain, text } from '../text.ts';
import { AccountPanel } from './account-panel.tsx';
import { Modal, PlainName } from './controls.tsx';
import { Preview } from './preview.tsx';
import { Settings } from './settings.tsx';

interface ConfirmProps {
  title: string;
  body: string;
  names: string[];
  act: string;
  onAct(): void;
}

function Confirm({ title, body, names, act, onAct }: ConfirmProps) {
  return (
    <Modal title={title} onClose={close}>
      <ul class="names">
        {names.slice(0, 5).map((name) => (
          <li key={name}>
            <bdi>{name}</bdi>
          </li>
        ))}
        {names.length > 5 && <li>…</li>}
      </ul>
      <p>{body}</p>
      <footer class="modal-foot">
        <button type="button" class="button" onClick={close}>
          {text.actions.cancel}
        </button>
        <button
          type="button"
          class="button danger"
          onClick={() => {
            close();
            onAct();
          }}
        >
          {act}
        </button>
      </footer>
    </Modal>
  );
}

function ChooseDir({ kind, items }: { kind: 'move' | 'copy'; items: Item[] }) {
  const target = useSignal<number | null>(null);
  const words = text[kind];
  const root = { dirId: null, name: text.places.root, verified: true };
  return (
    <Modal title={words.title(items.length)} onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          close();
          void (kind === 'move' ? moveFiles : copyFiles)(items, target.value);
        }}
      >
        <fieldset class="choices">
          <legend class="unseen">{words.title(items.length)}</legend>
          {[root, ...dirs.value].map(({ dirId, name, verified }) => (
            <label key={dirId} class="choice">
              <input
                type="radio"
                name="dir"
                checked={target.value === dirId}
                onChange={() => {
                  target.value = dirId;
                }}
              />
              <span dir="auto">{name}</span>
              {!verified && <PlainName hint={text.places.unverifiedHint} />}
            </label>
          ))}
        </fieldset>
        <footer class="modal-foot">
          <button type="button" class="button" onClick={close}>
            {text.actions.cancel}
          </button>
          <button type="submit" class="button primary">
            {words.do}
          </button>
        </footer>
      </form>
    </Modal>
  );
}

function MakeDir() {
  const name = useSignal('');
  const trouble = useSignal('');
  return (
    <Modal title={text.places.make} onClose={close}>
      <form
        onSubmit={async (event) => {
          event.preventDefault();
          try {
            const dirId = await makeDir(name.value);
            close();
            go(dirId);
          } catch (error) {
            trouble.value = explain(faultOf(error), { 409: text.places.taken });
          }
        }}
      >
        <label class="field">
          <span>{text.places.makeName}</span>
          <input
            name="dir-name"
            required
            // biome-ignore lint/a11y/noAutofocus: the dialog is there for this field
            autoFocus
            autocomplete="off"
            value={name.value}
            onInput={(event) => {
              name.value = event.currentTarget.value;
            }}
          />
        </label>
        <p class="trouble" role="alert">
          {trouble.value}
        </p>
        <footer class="modal-foot">
          <button type="button" class="button" onClick={close}>
            {text.actions.cancel}
          </button>
          <button type="submit" class="button primary">
            {text.places.makeDo}
          </button>
        </footer>
      </form>
    </Modal>
  );
}

function About() {
  return (
    <Modal title={text.about.title} onClose={close}>
      {text.about.lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
      <h3>{text.about.keys}</h3>
      <dl class="keys">
        {text.about.shortcuts.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <h3>{text.about.command}</h3>
      <p>
        {text.about.commandHow}
        <code>curl -O {globalThis.location.origin}/szafa.cjs</code>
        <code>node szafa.cjs --help</code>
      </p>
      <p>
        {text.about.commandDigest}
        <code>{COMMAND_SHA256}</code>
      </p>
      <p>
        <a href="/docs">{text.about.docs}</a>
      </p>
    </Modal>
  );
}

export function Dialogs() {
  const now = dialog.value;
  switch (now?.kind) {
    case 'remove':
      return (
        <Confirm
          title={text.remove.title(now.items.length)}
          body={text.remove.body}
          names={now.items.map(({ name }) => name)}
          act={text.actions.remove}
          onAct={() => void removeFiles(now.items)}
        />
      );
    case 'remove-dir':
      return (
        <Confirm
          title={text.places.removeTitle}
          body={text.places.removeBody(now.count)}
          names={[now.name]}
          act={text.places.removeDo}
          onAct={() => void removeDir(now.dirId)}
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
        />
      );
    case 'move':
    case 'copy':
      return <ChooseDir kind={now.kind} items={now.items} />;
    case 'make-dir':
      return <MakeDir />;
    case 'account':
      return <AccountPanel />;
    case 'settings':
      return <Settings />;
    case 'about':
      return <About />;
    case 'preview':
      return <Preview item={now.item} />;
    default:
      return null;
  }
}
