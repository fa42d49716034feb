/** Turns the codes of an authenticator app on and off. */

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { NewTotp } from '../core/bridge/calls.ts';
import { call, faultOf } from '../core/call.ts';
import { Button } from '../core/controls/controls.tsx';
import { Code, Form, useForm } from '../core/controls/form.tsx';
import { QrCode } from '../core/controls/qr-code.tsx';
import { writeTo } from '../core/signals.ts';
import { text } from '../core/text/index.ts';
import { CurrentPassword, Fold, Foot, type PartProps, requireSignedIn, StatusLine, wrong } from './fold.tsx';
import { confirmPasskey } from './passkeys.ts';
import { account } from './session.ts';

const words = text.account.factor;

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
    call('newTotp').then(writeTo(made), (error: unknown) => {
      form.trouble.value = faultOf(error);
    });
  }, []);
  return (
    <Form form={form} label={words.do} {...wrong()}>
      <p>{words.how}</p>
      {made.value && (
        <>
          <QrCode modules={made.value.qrCode} label={words.picture} />
          <p>
            {words.secret}: <code class="totp-secret">{made.value.secret.match(/.{4}/g)!.join(' ')}</code>
          </p>
        </>
      )}
      <Code value={code} />
      <CurrentPassword label={text.account.yourPassword} value={password} />
      <p>{words.after}</p>
      <p class={hasRecoveryKey ? '' : 'warn-words'}>{hasRecoveryKey ? words.withKey : words.withoutKey}</p>
      <Foot opened={opened} working={form.working} label={words.finish} />
    </Form>
  );
}

/** Sends no second factor at first: the refusal contains the challenge for the passkey. */
async function removeByPasskey(password: string): Promise<void> {
  const who = account.peek()!;
  try {
    await call('removeTotp', password, {});
  } catch (error) {
    const { passkey } = faultOf(error);
    if (!passkey) throw error;
    const signed = await confirmPasskey(passkey);
    requireSignedIn(who);
    await call('removeTotp', password, { passkey: signed });
  }
}

function TurnOff({ opened, onDone, hasPasskeys }: FormProps & { hasPasskeys: boolean }) {
  const password = useSignal('');
  const code = useSignal('');
  /** Use a passkey instead of a code, in case the authenticator app is lost. */
  const byPasskey = useRef(false);
  const { factorOff } = text.account;
  const form = useForm(async () => {
    const { current: without } = byPasskey;
    byPasskey.current = false;
    if (without) await removeByPasskey(password.value);
    else await call('removeTotp', password.value, { code: code.value });
    opened.value = null;
    await onDone();
  });
  const press = (event: Event) => {
    byPasskey.current = true;
    void form.submit(event);
  };
  return (
    <Form form={form} label={factorOff.do} {...wrong()}>
      <CurrentPassword label={text.account.yourPassword} value={password} />
      <Code value={code} />
      {hasPasskeys && <Button label={factorOff.byPasskey} isBusy={form.working.value} onClick={press} />}
      <Foot opened={opened} working={form.working} label={factorOff.finish} />
    </Form>
  );
}

interface SecondFactorProps extends PartProps {
  isOn: boolean;
  hasRecoveryKey: boolean;
  hasPasskeys: boolean;
  onChange(): Promise<void>;
}

export function SecondFactor(props: SecondFactorProps) {
  const { isOn, hasRecoveryKey, hasPasskeys, opened, onChange } = props;
  const { factorOff } = text.account;
  const news = useSignal('');
  const done = (said: string) => async () => {
    news.value = said;
    await onChange();
  };
  return (
    <section>
      <h3>{words.title}</h3>
      <StatusLine news={news} />
      <p>{isOn ? words.on : hasPasskeys ? words.noneBeside : words.none}</p>
      {isOn ? (
        <Fold name="factorOff" opened={opened}>
          <TurnOff
            opened={opened}
            hasPasskeys={hasPasskeys}
            onDone={done(hasPasskeys ? factorOff.doneBeside : factorOff.done)}
          />
        </Fold>
      ) : (
        <Fold name="factor" opened={opened}>
          <TurnOn hasRecoveryKey={hasRecoveryKey} opened={opened} onDone={done(words.done)} />
        </Fold>
      )}
    </section>
  );
}
