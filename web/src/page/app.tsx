import { account, leave, phase, shownKey, start, startFault } from '../accounts/session.ts';
import { Enter } from '../accounts/sign-in.tsx';
import { connected, online } from '../core/connection.ts';
import { Button, EmptyState, Spinner } from '../core/controls/controls.tsx';
import { KeySteps } from '../core/controls/key-trouble.tsx';
import { Notices } from '../core/controls/notices.tsx';
import { aboutKeys, explain, text } from '../core/text/index.ts';
import { RecoveryKey } from './lazy.tsx';
import { MainView } from './main-view.tsx';

function Busy({ label }: { label: string }) {
  return (
    <main class="middle">
      <Spinner label={label} />
    </main>
  );
}

/** Shown while the server cannot be reached. The app starts by itself once the server is back. */
function Away() {
  return (
    <main class="middle">
      <EmptyState icon="offline" title={online.value ? text.codes.network : text.state.noLine}>
        <p>{text.state.away}</p>
        <Spinner label={text.state.trying} />
      </EmptyState>
    </main>
  );
}

/** Shown if the stored session could not be restored. */
function Failed() {
  const fault = startFault.value;
  const again = <Button label={text.list.retry} onClick={() => void start()} />;
  if (fault?.code !== 'keys') {
    return (
      <main class="middle">
        <EmptyState icon="offline" title={fault ? explain(fault, { 403: text.enter.disabled }) : ''}>
          {again}
        </EmptyState>
      </main>
    );
  }
  return (
    <main class="middle refusal">
      <EmptyState icon="warning" title={aboutKeys(fault).title}>
        <KeySteps fault={fault} />
        <div class="key-acts">
          {again}
          <Button label={text.bar.signOut} onClick={() => void leave()} />
        </div>
      </EmptyState>
    </main>
  );
}

function Inside() {
  const key = shownKey.value;
  if (key) return <RecoveryKey shown={key} />;
  switch (phase.value) {
    case 'starting':
      return connected.value ? <Busy label={text.state.starting} /> : <Away />;
    case 'leaving':
      return <Busy label={text.state.leaving} />;
    case 'failed':
      return connected.value ? <Failed /> : <Away />;
    case 'in':
      return <MainView key={account.value?.username} />;
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
