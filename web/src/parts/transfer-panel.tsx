import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { online, reachable } from '../page/connection.ts';
import { bytes, duration } from '../page/format.ts';
import {
  active,
  cancel,
  clearFinished,
  dismiss,
  type Live,
  pause,
  rejoin,
  reopen,
  resume,
  type Transfer,
  transfers,
} from '../page/transfers.ts';
import { explain, text } from '../text.ts';
import { IconButton } from './controls.tsx';
import { Icon } from './icon.tsx';

const words = text.transfers;
const MOST_ROWS = 200;

function status({ size, note, kind }: Transfer, live: Live): string {
  const { state, moving, done, rate, fault } = live;
  const amount = `${bytes(done)} / ${bytes(size)}`;
  if (state === 'failed' && fault) return explain(fault);
  if (state === 'interrupted')
    return `${note?.handle ? words.interruptedHandle : words.interrupted} · ${amount}`;
  if (state === 'done')
    return `${kind === 'upload' ? words.doneUpload : words.doneDownload} · ${bytes(size)}`;
  if (state === 'paused') return `${words.paused} · ${amount}`;
  if (state === 'waiting' || !moving) return words.waiting;
  const connected = online.value && reachable.value;
  const parts = [connected ? words[kind] : words.stalled, amount];
  if (rate > 0 && connected) parts.push(words.rate(bytes(rate)), words.left(duration((size - done) / rate)));
  return parts.join(' · ');
}

function TransferRow({ transfer, onChoose }: { transfer: Transfer; onChoose(): void }) {
  const live = transfer.live.value;
  const { name, size, kind } = transfer;
  const share = live.state === 'done' ? 1 : size > 0 ? live.done / size : 0;
  const moving = live.state === 'running' || live.state === 'waiting';
  return (
    <li class={`transfer ${live.state}`}>
      <span class="transfer-icon">
        <Icon name={live.state === 'done' ? 'check' : live.state === 'failed' ? 'warning' : kind} />
      </span>
      <div class="transfer-main">
        <span class="transfer-name" title={name}>
          <bdi>{name}</bdi>
        </span>
        <progress max={1} value={share} aria-label={name} />
        <span class="transfer-status">{status(transfer, live)}</span>
      </div>
      <div class="transfer-acts">
        {kind === 'upload' && moving && (
          <IconButton icon="pause" label={words.pause(name)} onClick={() => pause(transfer)} />
        )}
        {live.state === 'paused' && kind === 'upload' && (
          <IconButton icon="play" label={words.resume(name)} onClick={() => resume(transfer)} />
        )}
        {(live.state === 'failed' || (live.state === 'paused' && kind === 'download')) && (
          <IconButton icon="retry" label={words.retry(name)} onClick={() => resume(transfer)} />
        )}
        {live.state === 'interrupted' && (
          <IconButton
            icon="play"
            label={transfer.note?.handle ? words.resume(name) : words.choose(name)}
            onClick={async () => {
              if (!(await reopen(transfer))) onChoose();
            }}
          />
        )}
        {live.state === 'done' ? (
          <IconButton icon="close" label={words.dismiss(name)} onClick={() => dismiss(transfer)} />
        ) : (
          <IconButton icon="close" label={words.cancel(name)} onClick={() => void cancel(transfer)} />
        )}
      </div>
    </li>
  );
}

export function TransferPanel() {
  const folded = useSignal(false);
  const input = useRef<HTMLInputElement>(null);
  const all = transfers.value;
  if (all.length === 0) return null;
  // A download that is stopped begins again, so only uploads are paused.
  const moving = active.value.filter(({ kind }) => kind === 'upload');
  const paused = all.filter(({ kind, live }) => kind === 'upload' && live.value.state === 'paused');
  // The newest, and those under way, which are older where many wait.
  const shown = all.filter(({ live }, index) => index < MOST_ROWS || live.value.state === 'running');
  const finished = all.some(({ live }) => live.value.state === 'done');
  return (
    <section class="transfers" aria-label={words.title}>
      <header>
        <h2 aria-live="polite">
          {words.title}
          {active.value.length > 0 && <span class="count">{active.value.length}</span>}
        </h2>
        {finished && (
          <button type="button" class="link" onClick={clearFinished}>
            {words.clear}
          </button>
        )}
        {moving.length > 1 && (
          <button type="button" class="link" onClick={() => moving.forEach(pause)}>
            {words.pauseAll}
          </button>
        )}
        {paused.length > 1 && (
          <button type="button" class="link" onClick={() => paused.forEach(resume)}>
            {words.resumeAll}
          </button>
        )}
        <IconButton
          icon={folded.value ? 'up' : 'down'}
          label={folded.value ? words.show : words.hide}
          expanded={!folded.value}
          onClick={() => {
            folded.value = !folded.value;
          }}
        />
      </header>
      {!folded.value && (
        <ul>
          {shown.map((transfer) => (
            <TransferRow key={transfer.id} transfer={transfer} onChoose={() => input.current?.click()} />
          ))}
        </ul>
      )}
      <input
        ref={input}
        type="file"
        multiple
        hidden
        data-test="rejoin"
        onChange={(event) => {
          rejoin([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = '';
        }}
      />
    </section>
  );
}
