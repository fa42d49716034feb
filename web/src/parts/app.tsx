import { dismiss, notices } from '../page/notices.ts';
import { account, phase, start, startFault } from '../page/session.ts';
import { explain, text } from '../text.ts';
import { Banner } from './banner.tsx';
import { IconButton, Placard, Spinner } from './controls.tsx';
import { Enter } from './enter.tsx';
import { Room } from './room.tsx';

function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map(({ id, text: words, bad, ongoing }) => (
        // Not read out at each step.
        <div key={id} class={`notice ${bad ? 'bad' : ''}`} aria-live={ongoing ? 'off' : undefined}>
          <span dir="auto">{words}</span>
          {!ongoing && <IconButton icon="close" label={text.actions.close} onClick={() => dismiss(id)} />}
        </div>
      ))}
    </div>
  );
}

function Inside() {
  switch (phase.value) {
    case 'starting':
    case 'leaving':
      return (
        <main class="middle">
          <div>
            <Spinner label={phase.value === 'leaving' ? text.state.leaving : text.state.starting} />
            <Banner />
          </div>
        </main>
      );
    case 'failed':
      return (
        <main class="middle">
          <Placard icon="offline" title={startFault.value ? explain(startFault.value) : ''}>
            <button type="button" class="button" onClick={() => void start()}>
              {text.list.retry}
            </button>
          </Placard>
        </main>
      );
    case 'in':
      return <Room key={account.value?.username} />;
    default:
      return <Enter />;
  }
}

export function App() {
  return (
    <>
      <Inside />
      <Notices />
    </>
  );
}
