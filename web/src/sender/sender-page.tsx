/** The page behind a request link: a place to drop files, their uploads, or the reason why nothing can be sent. */
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import type { RequestTerms } from '../core/bridge/calls.ts';
import { Banner } from '../core/controls/banner.tsx';
import { Button, EmptyState, Spinner } from '../core/controls/controls.tsx';
import { Icon } from '../core/controls/icon.tsx';
import { Notices } from '../core/controls/notices.tsx';
import { bytes, fullDate } from '../core/format.ts';
import { text } from '../core/text/index.ts';
import { LinkFailed, VisitorFoot, VisitorHead } from '../sharing/visitor-frame.tsx';
import { fromInput } from '../transfers/pick.ts';
import { TransferPanel } from '../transfers/transfer-panel.tsx';
import { begin, filesOver, send, sent, shown } from './request.ts';
import { words } from './text.ts';

function Chooser() {
  const input = useRef<HTMLInputElement>(null);
  return (
    <div class={`sender-drop ${filesOver.value ? 'drop-here' : ''}`}>
      <Button
        class="primary wide"
        icon="upload"
        label={words.choose}
        onClick={() => input.current?.click()}
      />
      <p class="hint">{filesOver.value ? text.drop.title : words.drop}</p>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        data-test="files"
        onChange={({ currentTarget }) => {
          const batches = fromInput(currentTarget.files ?? []);
          currentTarget.value = '';
          void send(batches);
        }}
      />
    </div>
  );
}

function RequestCard({ asked }: { asked: RequestTerms }) {
  const { files, bytes: room, expiresAt, note } = asked;
  return (
    <section class="visitor-card">
      <h1>{words.title}</h1>
      <p>{words.what}</p>
      {note !== undefined && (
        <blockquote dir="auto" aria-label={text.visitor.note}>
          {note}
        </blockquote>
      )}
      {files === 0 || room === 0 ? (
        <EmptyState icon="info" title={text.link.full.title}>
          <p>{text.link.full.next}</p>
        </EmptyState>
      ) : (
        <>
          <div class="visitor-facts">
            <p>{words.takes(files, bytes(room))}</p>
            {expiresAt !== null && <p>{words.until(fullDate(expiresAt))}</p>}
          </div>
          <Chooser />
          <p class="hint">{words.again}</p>
        </>
      )}
    </section>
  );
}

/** Stays after the rows are dismissed, so that the sender can see that the files have arrived. */
function SentSummary() {
  const { files, bytes: size } = sent.value;
  return (
    <div role="status">
      {files > 0 && (
        <section class="visitor-card sender-sent">
          <p>
            <Icon name="check" />
            <strong>{words.sent(files, bytes(size))}</strong>
          </p>
          <p>{words.gone}</p>
        </section>
      )}
    </div>
  );
}

function Inside(): ComponentChildren {
  const now = shown.value;
  switch (now.at) {
    case 'opening':
      return <Spinner label={text.visitor.opening} />;
    case 'fault':
      return <LinkFailed fault={now.fault} onRetry={() => void begin()} />;
    default:
      return <RequestCard asked={now.asked} />;
  }
}

export function SenderPage() {
  return (
    <>
      <main class="visitor">
        <VisitorHead title={words.title} />
        <Banner />
        <Inside />
        <TransferPanel />
        <SentSummary />
        <VisitorFoot lines={words.trust} />
      </main>
      <Notices />
    </>
  );
}
