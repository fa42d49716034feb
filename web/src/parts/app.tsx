import { dismiss, notices } from '../page/notices.ts';
import { account, leave, phase, shownKey, start, startFault } from '../page/session.ts';
import { aboutKeys, explain, text } from '../text.ts';
import { Banner } from './banner.tsx';
import { IconButton, Placard, Spinner } from './controls.tsx';
import { Enter } from './enter.tsx';
import { KeySteps } from './key-trouble.tsx';
import { RecoveryKey } from './recovery-key.tsx';
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

/** The page could not begin where it was left. */
function Failed() {
  const fault = startFault.value;
  const again = (
    <button type="button" class="button" onClick={() => void start()}>
      {text.list.retry}
    </button>
  );
  if (fault?.code !== 'keys') {
    return (
      <main class="middle">
        <Placard icon="offline" title={fault ? explain(fault, { 403: text.enter.disabled }) : ''}>
          {again}
        </Placard>
      </main>
    );
  }
  return (
    <main class="middle refusal">
      <Placard icon="warning" title={aboutKeys(fault).title}>
        <KeySteps fault={fault} />
        <div class="key-acts">
          {again}
          <button type="button" class="button" onClick={() => void leave()}>
            {text.bar.signOut}
          </button>
        </div>
      </Placard>
    </main>
  );
}

function Inside() {
  const key = shownKey.value;
  if (key) return <RecoveryKey username={key.username} shown={key.key} />;
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
      return <Failed />;
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
