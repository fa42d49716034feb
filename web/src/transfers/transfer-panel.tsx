/** The panel of all transfers, in the corner or, on a phone, below the list. It collapses when all are done. */

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { connected } from '../core/connection.ts';
import { Button, IconButton } from '../core/controls/controls.tsx';
import { Icon } from '../core/controls/icon.tsx';
import { bytes, duration } from '../core/format.ts';
import { setTo } from '../core/signals.ts';
import { explain, text } from '../core/text/index.ts';
import { sortTransfers, type Total, total } from './total.ts';
import {
  active,
  cancel,
  clearFinished,
  dismiss,
  pause,
  reopen,
  resume,
  resumeChosen,
  type Transfer,
  type TransferStatus,
  transfers,
} from './transfers.ts';

const words = text.transfers;
const MOST_ROWS = 200;
/** The panel collapses this long after all transfers have succeeded. */
const SEEN_MS = 5_000;

/** Returns the words for the rate and the remaining time. */
function pace(rate: number, left: number): string[] {
  return rate > 0 && connected.value ? [words.rate(bytes(rate)), words.left(duration(left / rate))] : [];
}

function statusText({ size, note, kind }: Transfer, status: TransferStatus): string {
  const { state, moving, done, rate, fault } = status;
  const amount = `${bytes(done)} / ${bytes(size)}`;
  if (state === 'failed' && fault) return explain(fault);
  if (state === 'interrupted')
    return `${note?.handle ? words.interruptedHandle : words.interrupted} · ${amount}`;
  if (state === 'done')
    return `${kind === 'upload' ? words.doneUpload : words.doneDownload} · ${bytes(size)}`;
  if (state === 'paused') return `${words.paused} · ${amount}`;
  if (state === 'waiting' || !moving) return words.waiting;
  return [connected.value ? words[kind] : words.stalled, amount, ...pace(rate, size - done)].join(' · ');
}

function TransferRow({ transfer, onChoose }: { transfer: Transfer; onChoose(): void }) {
  const status = transfer.status.value;
  const { name, size, kind } = transfer;
  const share = status.state === 'done' ? 1 : size > 0 ? status.done / size : 0;
  const moving = status.state === 'running' || status.state === 'waiting';
  return (
    <li class={`transfer ${status.state}`}>
      <span class="transfer-icon">
        <Icon name={status.state === 'done' ? 'check' : status.state === 'failed' ? 'warning' : kind} />
      </span>
      <div class="transfer-main">
        <span class="transfer-name" title={name}>
          <bdi>{name}</bdi>
        </span>
        <progress max={1} value={share} aria-label={name} />
        <span class="transfer-status">{statusText(transfer, status)}</span>
      </div>
      <div class="transfer-acts">
        {kind === 'upload' && moving && (
          <IconButton icon="pause" label={words.pause(name)} onClick={() => pause(transfer)} />
        )}
        {status.state === 'paused' && kind === 'upload' && (
          <IconButton icon="play" label={words.resume(name)} onClick={() => resume(transfer)} />
        )}
        {(status.state === 'failed' || (status.state === 'paused' && kind === 'download')) && (
          <IconButton icon="retry" label={words.retry(name)} onClick={() => resume(transfer)} />
        )}
        {status.state === 'interrupted' && (
          <IconButton
            icon="play"
            label={transfer.note?.handle ? words.resume(name) : words.choose(name)}
            onClick={async () => {
              if (!(await reopen(transfer))) onChoose();
            }}
          />
        )}
        {status.state === 'done' ? (
          <IconButton icon="close" label={words.dismiss(name)} onClick={() => dismiss(transfer)} />
        ) : (
          <IconButton icon="close" label={words.cancel(name)} onClick={() => void cancel(transfer)} />
        )}
      </div>
    </li>
  );
}

/** The total of all active transfers. */
function Together({ now }: { now: Total }) {
  const { finished, count, done, size, rate } = now;
  const amount = `${bytes(done)} / ${bytes(size)}`;
  return (
    <div class="total">
      <progress max={1} value={size > 0 ? done / size : 0} aria-label={words.total} />
      <span class="transfer-status">
        {[words.finishedOf(finished, count), amount, ...pace(rate, size - done)].join(' · ')}
      </span>
    </div>
  );
}

/** Collapses the list some time after everything is done. The user's choice counts until `settled` changes. */
function useFolding(settled: boolean) {
  const byHand = useSignal<boolean | null>(null);
  const seen = useSignal(false);
  useEffect(() => {
    seen.value = false;
    byHand.value = null;
    if (!settled) return;
    const timer = setTimeout(setTo(seen, true), SEEN_MS);
    return () => clearTimeout(timer);
  }, [settled]);
  const folded = byHand.value ?? seen.value;
  return {
    folded,
    toggle() {
      byHand.value = !folded;
    },
  };
}

export function TransferPanel() {
  const input = useRef<HTMLInputElement>(null);
  const showFinished = useSignal(false);
  const all = transfers.value;
  const finished = all.filter(({ status }) => status.value.state === 'done').length;
  const settled = finished > 0 && finished === all.length;
  const { folded, toggle } = useFolding(settled);
  if (all.length === 0) return null;
  // Only uploads can be paused: a stopped download would start over.
  const moving = active.value.filter(({ kind }) => kind === 'upload');
  const paused = all.filter(({ kind, status }) => kind === 'upload' && status.value.state === 'paused');
  const hidden = settled || showFinished.value ? 0 : finished;
  const rows = folded ? [] : sortTransfers(all).slice(0, Math.min(MOST_ROWS, all.length - hidden));
  return (
    <section class={`transfers ${folded ? 'folded' : ''}`} aria-label={words.title}>
      <header>
        <h2 aria-live="polite">
          {words.title}
          {active.value.length > 0 && <span class="count">{active.value.length}</span>}
        </h2>
        {total.value && total.value.count > 1 ? <Together now={total.value} /> : <span class="total" />}
        {finished > 0 && <Button kind="link" label={words.clear} onClick={clearFinished} />}
        {moving.length > 1 && (
          <Button kind="link" label={words.pauseAll} onClick={() => moving.forEach(pause)} />
        )}
        {paused.length > 1 && (
          <Button kind="link" label={words.resumeAll} onClick={() => paused.forEach(resume)} />
        )}
        <IconButton
          icon={folded ? 'up' : 'down'}
          label={folded ? words.show : words.hide}
          expanded={!folded}
          onClick={toggle}
        />
      </header>
      {!folded && (
        <ul>
          {rows.map((transfer) => (
            <TransferRow key={transfer.id} transfer={transfer} onChoose={() => input.current?.click()} />
          ))}
          {hidden > 0 && (
            <li class="transfer-more">
              <Button kind="link" label={words.showFinished(hidden)} onClick={setTo(showFinished, true)} />
            </li>
          )}
        </ul>
      )}
      <input
        ref={input}
        type="file"
        multiple
        hidden
        data-test="rejoin"
        onChange={(event) => {
          resumeChosen([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = '';
        }}
      />
    </section>
  );
}
