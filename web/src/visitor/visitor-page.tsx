/** What somebody sees who follows a link: what is behind it, or why there is nothing, and what to do then. */
import { useSignal } from '@preact/signals';
import { displayName, parentOf, safeSegments } from '@szafa/client';
import type { ComponentChildren } from 'preact';
import type { Fault, SharedItem } from '../bridge.ts';
import { download, saveZip } from '../page/downloads.ts';
import { bytes, fullDate } from '../page/format.ts';
import { IconButton, Placard, Spinner } from '../parts/controls.tsx';
import { DoorLanguage } from '../parts/door-language.tsx';
import { Secret, Trouble, useForm } from '../parts/form.tsx';
import { Icon, iconOf } from '../parts/icon.tsx';
import { Notices } from '../parts/notices.tsx';
import { Preview } from '../parts/preview.tsx';
import { TransferPanel } from '../parts/transfer-panel.tsx';
import { aboutLink, explain, text } from '../text.ts';
import { withoutSlashes } from './paths.ts';
import { begin, open, shown, visited } from './visit.ts';

const words = text.visitor;
/** More of them are drawn when somebody asks. */
const ROWS = 300;

const isReadable = ({ missing, isFolder }: SharedItem) => !missing && !isFolder;

/** The one folder that all of it is in, or ''. */
function topOf(items: readonly SharedItem[]): string {
  const [first = ''] = items[0]!.path.split('/');
  return items.every(({ path }) => path.startsWith(`${first}/`)) ? first : '';
}

function titleOf(items: readonly SharedItem[]): string {
  if (items.length === 1) return items[0]!.name;
  return displayName(topOf(items)) || text.list.count(items.filter(({ isFolder }) => !isFolder).length);
}

/** How long it is there, and how often it can be taken. */
function Terms() {
  const { expiresAt = null, downloadsLeft = null } = visited.value ?? {};
  return (
    <>
      {expiresAt !== null && <p>{words.until(fullDate(expiresAt))}</p>}
      {downloadsLeft !== null && <p>{downloadsLeft > 0 ? words.left(downloadsLeft) : words.last}</p>}
    </>
  );
}

function Row({ item, onShow }: { item: SharedItem; onShow(): void }) {
  const { name, path, size, missing, isFolder } = item;
  const folder = parentOf(withoutSlashes(path));
  return (
    <li class="shared-file">
      <span class={`file-icon ${isFolder ? 'of-folder' : ''}`}>
        <Icon name={isFolder ? 'folder' : iconOf(name)} />
      </span>
      <span class="shared-words">
        {isReadable(item) ? (
          <button type="button" class="shared-name" onClick={onShow}>
            <bdi>{name}</bdi>
          </button>
        ) : (
          <bdi class="shared-name">{name}</bdi>
        )}
        <span class="hint">
          {missing
            ? words.missing
            : [folder && displayName(folder), !isFolder && bytes(size)].filter(Boolean).join(' · ')}
        </span>
      </span>
      {isReadable(item) && (
        <IconButton icon="download" label={words.downloadOf(name)} onClick={() => void download(item)} />
      )}
    </li>
  );
}

function Files({ items, note }: { items: SharedItem[]; note?: string | undefined }) {
  const previewed = useSignal<SharedItem | null>(null);
  const rows = useSignal(ROWS);
  const files = items.filter(isReadable);
  const size = files.reduce((sum, file) => sum + file.size, 0);
  const [first] = files;
  const all = () => {
    const there = items.filter(({ missing }) => !missing);
    const name = `${safeSegments(topOf(items) || text.name).at(-1)!}.zip`;
    return saveZip({ name, parts: there.map(({ fileId, path }) => ({ fileId, path })) }, size);
  };
  return (
    <section class="visitor-card">
      <h1 dir="auto">{titleOf(items)}</h1>
      <div class="visitor-facts">
        <p>
          {text.list.count(files.length)} · {bytes(size)}
        </p>
        <Terms />
      </div>
      {note !== undefined && (
        <blockquote dir="auto" aria-label={words.note}>
          {note}
        </blockquote>
      )}
      {first && (
        <button
          type="button"
          class="button primary wide"
          onClick={() => void (items.length === 1 ? download(first) : all())}
        >
          <Icon name="download" />
          {items.length === 1 ? text.actions.download : words.downloadAll}
        </button>
      )}
      <ul class="shared-files" aria-label={text.list.label}>
        {items.slice(0, rows.value).map((item) => (
          <Row
            key={item.fileId}
            item={item}
            onShow={() => {
              previewed.value = item;
            }}
          />
        ))}
      </ul>
      {items.length > rows.value && (
        <button
          type="button"
          class="button"
          onClick={() => {
            rows.value += ROWS;
          }}
        >
          {words.more(items.length - rows.value)}
        </button>
      )}
      {previewed.value && (
        <Preview
          item={previewed.value}
          among={files}
          now={() => previewed.peek() ?? undefined}
          onShow={(item) => {
            previewed.value = item as SharedItem;
          }}
          onClose={() => {
            previewed.value = null;
          }}
        />
      )}
    </section>
  );
}

function Locked() {
  const passphrase = useSignal('');
  const eye = useSignal(false);
  const form = useForm(() => open(passphrase.value));
  return (
    <form class="visitor-card" onSubmit={form.submit}>
      <h1>{words.locked}</h1>
      <p>{words.lockedWhy}</p>
      <Terms />
      <Secret label={words.passphrase} name="passphrase" autocomplete="off" value={passphrase} shown={eye} />
      <Trouble form={form} />
      <button type="submit" class="button primary wide" disabled={form.working.value}>
        {form.working.value ? text.enter.working : words.open}
      </button>
    </form>
  );
}

/** Why nothing is shown, and what can be done. */
function Failed({ fault }: { fault: Fault }) {
  const known = aboutLink(fault);
  return (
    <section class="visitor-card">
      <Placard icon={fault.code === 'network' ? 'offline' : 'warning'} title={known?.title ?? explain(fault)}>
        {known ? (
          <p>{known.next}</p>
        ) : (
          <button type="button" class="button" onClick={() => void begin()}>
            {text.list.retry}
          </button>
        )}
      </Placard>
    </section>
  );
}

function Inside(): ComponentChildren {
  const now = shown.value;
  switch (now.at) {
    case 'opening':
      return <Spinner label={words.opening} />;
    case 'locked':
      return <Locked />;
    case 'fault':
      return <Failed fault={now.fault} />;
    default:
      return <Files items={now.items} note={now.note} />;
  }
}

export function VisitorPage() {
  return (
    <>
      <main class="visitor">
        <header class="visitor-head">
          <Icon name="wardrobe" size={28} />
          <span class="brand-name">{text.name}</span>
          <span class="hint">{words.title}</span>
        </header>
        <Inside />
        <TransferPanel />
        <footer class="visitor-foot">
          {words.honest.map((line) => (
            <p key={line}>{line}</p>
          ))}
          <DoorLanguage />
        </footer>
      </main>
      <Notices />
    </>
  );
}
