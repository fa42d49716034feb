/** The passkeys of the account, with forms to add and remove them. */

import { useSignal } from '@preact/signals';
import type { PasskeyRow } from '../core/bridge/calls.ts';
import { call } from '../core/call.ts';
import { Button } from '../core/controls/controls.tsx';
import { FormTrouble } from '../core/controls/faults.tsx';
import { Field, Form, Submit, useForm } from '../core/controls/form.tsx';
import { ListRow } from '../core/controls/list-row.tsx';
import { date } from '../core/format.ts';
import { setTo } from '../core/signals.ts';
import { text } from '../core/text/index.ts';
import { CurrentPassword, Fold, Foot, type PartProps, requireSignedIn, StatusLine, wrong } from './fold.tsx';
import { makePasskey } from './passkeys.ts';
import { account } from './session.ts';

const words = text.account.passkey;

interface PasskeysProps extends PartProps {
  passkeys: PasskeyRow[];
  /** Passkeys can be added and used at this address. */
  offered: boolean;
  totp: boolean;
  hasRecoveryKey: boolean;
  onChange(): Promise<void>;
}

function Add({
  opened,
  totp,
  hasRecoveryKey,
  onDone,
}: PasskeysProps & { onDone(said: string): Promise<void> }) {
  const name = useSignal('');
  const password = useSignal('');
  const form = useForm(async () => {
    const who = account.peek()!;
    const made = await makePasskey(await call('newPasskey'), who.username);
    requireSignedIn(who);
    const adding = call('addPasskey', password.value, name.value, made);
    made.secret?.fill(0); // the worker has its own copy
    await adding;
    opened.value = null;
    await onDone(made.secret ? words.doneAlone : words.done);
  });
  return (
    <Form form={form} label={words.do} {...wrong()}>
      <p>{words.after}</p>
      <p class={totp ? '' : 'warn-words'}>{totp ? words.withCodes : words.withoutCodes}</p>
      {!hasRecoveryKey && <p class="warn-words">{words.withoutKey}</p>}
      <Field
        label={words.name}
        hint={words.nameHint}
        name="passkey-name"
        autocomplete="off"
        max={100}
        value={name}
      />
      <CurrentPassword label={text.account.yourPassword} value={password} />
      <Foot opened={opened} working={form.working} label={words.finish} />
    </Form>
  );
}

function Remove({ id, name, onDone }: { id: string; name: string; onDone(): Promise<void> }) {
  const password = useSignal('');
  const form = useForm(async () => {
    await call('removePasskey', password.value, id);
    await onDone();
  });
  return (
    <Form form={form} label={words.removeOf(name)} {...wrong()}>
      <p>{words.removed}</p>
      <CurrentPassword label={text.account.yourPassword} value={password} />
      <FormTrouble />
      <Submit form={form} class="danger" label={words.removeOf(name)} />
    </Form>
  );
}

export function Passkeys(props: PasskeysProps) {
  const { passkeys, offered, opened, onChange } = props;
  const news = useSignal('');
  const removing = useSignal<string | null>(null);
  const done = async (said: string) => {
    news.value = said;
    removing.value = null;
    await onChange();
  };
  if (!offered && passkeys.length === 0) return null;
  return (
    <section>
      <h3>{words.title}</h3>
      <StatusLine news={news} />
      {passkeys.length === 0 && <p>{words.none}</p>}
      <ul class="devices">
        {passkeys.map(({ id, name, alone, used_at }) => (
          <ListRow
            key={id}
            name={name}
            facts={[
              alone ? words.alone : words.second,
              used_at === null ? words.never : words.used(date(used_at)),
            ]}
            details={removing.value === id && <Remove id={id} name={name} onDone={() => done(words.gone)} />}
          >
            {removing.value !== id && (
              <Button label={words.remove} name={words.removeOf(name)} onClick={setTo(removing, id)} />
            )}
          </ListRow>
        ))}
      </ul>
      {offered && (
        <Fold name="passkey" opened={opened}>
          <Add {...props} onDone={done} />
        </Fold>
      )}
    </section>
  );
}
