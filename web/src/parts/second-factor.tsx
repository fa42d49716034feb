/** Codes of an authenticator app, turned on and off. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { NewTotp } from '../bridge.ts';
import { call, faultOf } from '../page/core.ts';
import { text } from '../text.ts';
import { CurrentPassword, Fold, Foot, type PartProps, Said, wrong } from './fold.tsx';
import { Code, Trouble, useForm } from './form.tsx';

const words = text.account.factor;
const QUIET = 4;

/** Dark on light in either theme: readers expect that. */
function Picture({ modules }: { modules: boolean[][] }) {
  const size = modules.length + 2 * QUIET;
  const path = modules.flatMap((row, y) =>
    row.flatMap((dark, x) => (dark ? [`M${x + QUIET} ${y + QUIET}h1v1h-1z`] : [])),
  );
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={words.picture}>
      <path d={path.join('')} shape-rendering="crispEdges" />
    </svg>
  );
}

interface FormProps extends PartProps {
  onDone(): Promise<void>;
}

function TurnOn({ opened, onDone, hasRecoveryKey }: FormProps & { hasRecoveryKey: boolean }) {
  const made = useSignal<NewTotp | null>(null);
  const password = useSignal('');
  const code = useSignal('');
  const form = useForm(async () => {
    await call('setTotp', password.value, made.value!.secret, code.value);
    opened.value = null;
    await onDone();
  });
  useEffect(() => {
    call('newTotp').then(
      (totp) => {
        made.value = totp;
      },
      (error: unknown) => {
        form.trouble.value = faultOf(error);
      },
    );
  }, []);
  return (
    <form onSubmit={form.submit} aria-label={words.do}>
      <p>{words.how}</p>
      {made.value && (
        <>
          <Picture modules={made.value.picture} />
          <p>
            {words.secret}: <code class="totp-secret">{made.value.secret.match(/.{4}/g)!.join(' ')}</code>
          </p>
        </>
      )}
      <Code value={code} />
      <CurrentPassword label={text.account.yourPassword} value={password} />
      <p>{words.after}</p>
      <p class={hasRecoveryKey ? '' : 'warn-words'}>{hasRecoveryKey ? words.withKey : words.withoutKey}</p>
      <Trouble form={form} here={wrong()} />
      <Foot opened={opened} working={form.working} label={words.finish} />
    </form>
  );
}

function TurnOff({ opened, onDone }: FormProps) {
  const password = useSignal('');
  const code = useSignal('');
  const { factorOff } = text.account;
  const form = useForm(async () => {
    await call('removeTotp', password.value, code.value);
    opened.value = null;
    await onDone();
  });
  return (
    <form onSubmit={form.submit} aria-label={factorOff.do}>
      <CurrentPassword label={text.account.yourPassword} value={password} />
      <Code value={code} />
      <Trouble form={form} here={wrong()} />
      <Foot opened={opened} working={form.working} label={factorOff.finish} />
    </form>
  );
}

interface SecondFactorProps extends PartProps {
  isOn: boolean;
  hasRecoveryKey: boolean;
  /** It is another way by now. */
  onChange(): Promise<void>;
}

export function SecondFactor({ isOn, hasRecoveryKey, opened, onChange }: SecondFactorProps) {
  const news = useSignal('');
  const done = (said: string) => async () => {
    news.value = said;
    await onChange();
  };
  return (
    <section>
      <h3>{words.title}</h3>
      <Said news={news} />
      <p>{isOn ? words.on : words.none}</p>
      {isOn ? (
        <Fold name="factorOff" opened={opened}>
          <TurnOff opened={opened} onDone={done(text.account.factorOff.done)} />
        </Fold>
      ) : (
        <Fold name="factor" opened={opened}>
          <TurnOn hasRecoveryKey={hasRecoveryKey} opened={opened} onDone={done(words.done)} />
        </Fold>
      )}
    </section>
  );
}
