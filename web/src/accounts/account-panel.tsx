/** The dialog with the settings of the signed-in account. */

import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { AccountOverview, SessionRow } from '../core/bridge/calls.ts';
import type { Fault } from '../core/bridge/messages.ts';
import { call, faultOf } from '../core/call.ts';
import { Button, Modal, Spinner } from '../core/controls/controls.tsx';
import { Trouble } from '../core/controls/faults.tsx';
import { Field, Form, refuse, useForm } from '../core/controls/form.tsx';
import { ListRow } from '../core/controls/list-row.tsx';
import { date } from '../core/format.ts';
import { notifyError } from '../core/notices.ts';
import { setTo } from '../core/signals.ts';
import { explain, text } from '../core/text/index.ts';
import { askToSignOut, closeDialog, dialog } from '../files/actions.ts';
import { dirNames, dirs, items, listing } from '../files/file-list.ts';
import { words as sharing } from '../sharing/text/index.ts';
import {
  CurrentPassword,
  Fold,
  Foot,
  type OpenForm,
  type PartProps,
  requireSignedIn,
  StatusLine,
  wrong,
} from './fold.tsx';
import { NewPassword, requireGoodPassword } from './new-password.tsx';
import { Passkeys } from './passkey-section.tsx';
import { SecondFactor } from './second-factor.tsx';
import { account, deleteAccount, makeRecoveryKey } from './session.ts';

const words = text.account;
function ChangePassword({ opened, onDone }: PartProps & { onDone(): Promise<void> }) {
  const current = useSignal('');
  const next = useSignal('');
  const repeat = useSignal('');
  const form = useForm(async () => {
    if (next.value === current.value) refuse(words.password.same, 'password');
    const who = account.peek()!;
    await requireGoodPassword(who.username, next.value, repeat.value);
    requireSignedIn(who);
    await call('changePassword', current.value, next.value);
    opened.value = null;
    await onDone();
  });
  return (
    <Form form={form} label={words.password.do} {...wrong()}>
      <CurrentPassword label={words.currentPassword} value={current} />
      <NewPassword label={words.password.next} value={next} repeat={repeat} />
      <p>{words.password.after}</p>
      <p>{words.password.limits}</p>
      <Foot opened={opened} working={form.working} label={words.password.do} />
    </Form>
  );
}

function DeleteAccount({ opened }: PartProps) {
  const name = useSignal('');
  const password = useSignal('');
  const { username } = account.value!;
  const form = useForm(async () => {
    if (name.value.trim() !== username) refuse(words.remove.otherName, 'account-name');
    await deleteAccount(password.value);
  });
  const files = listing.value === 'ready' ? items.value.length : undefined;
  return (
    <Form form={form} label={words.remove.do} {...wrong()}>
      <p class="danger-words">{words.remove.lost(files, dirs.value.length)}</p>
      <Field label={words.remove.name(username)} name="account-name" autocomplete="off" value={name} />
      <CurrentPassword label={words.yourPassword} value={password} />
      <Foot opened={opened} working={form.working} label={words.remove.do} danger />
    </Form>
  );
}

/** Shows only the day, because the server updates the time of the last use once an hour. */
function lastUse({ used_at, current }: SessionRow): string {
  const { sessions } = words;
  if (current) return sessions.usedNow;
  const isToday = new Date(used_at).toDateString() === new Date().toDateString();
  return isToday ? sessions.usedToday : sessions.used(date(used_at));
}

function Session({ session, onEnd }: { session: SessionRow; onEnd(): void }) {
  const { sessions } = words;
  const { device, current, scope, dir_id, expires_at } = session;
  const name = device || sessions.unnamed;
  const folder = dir_id === null ? undefined : dirNames.value.get(dir_id);
  const signOut = () => {
    closeDialog();
    void askToSignOut().catch(notifyError);
  };
  return (
    <ListRow
      name={name}
      badges={current && <span class="badge own">{sessions.current}</span>}
      facts={[
        lastUse(session),
        sessions.scope[scope],
        dir_id !== null && (folder === undefined ? sessions.oneFolder : sessions.folder(folder)),
        expires_at !== null && sessions.expires(date(expires_at)),
      ]}
    >
      {current ? (
        <Button label={text.bar.signOut} onClick={signOut} />
      ) : (
        <Button label={sessions.end} name={sessions.endOf(name)} onClick={onEnd} />
      )}
    </ListRow>
  );
}

function Sessions({ sessions, onChange }: { sessions: SessionRow[]; onChange(): Promise<void> }) {
  const news = useSignal('');
  const end = async (ending: Promise<number>) => {
    try {
      const count = await ending;
      await onChange();
      news.value = words.sessions.ended(count);
    } catch (error) {
      // Another device may have ended the session already.
      await onChange();
      news.value = explain(faultOf(error));
    }
  };
  return (
    <section>
      <h3>{words.sessions.title}</h3>
      <ul class="devices">
        {sessions.map((session) => (
          <Session
            key={session.id}
            session={session}
            onEnd={() => void end(call('endSession', session.id).then(() => 1))}
          />
        ))}
      </ul>
      <StatusLine news={news} />
      {sessions.length > 1 && (
        <Button label={words.sessions.endOthers} onClick={() => end(call('endOtherSessions'))} />
      )}
    </section>
  );
}

export function AccountPanel() {
  const overview = useSignal<AccountOverview | null>(null);
  const trouble = useSignal<Fault | null>(null);
  const opened = useSignal<OpenForm>(null);
  const changed = useSignal('');
  const refresh = async () => {
    try {
      overview.value = await call('overview');
      trouble.value = null;
    } catch (error) {
      trouble.value = faultOf(error);
    }
  };
  useEffect(() => void refresh(), []);
  const now = overview.value;
  return (
    <Modal title={words.title} class="account" onClose={closeDialog}>
      <Trouble fault={trouble.value} />
      {!now && !trouble.value && <Spinner label={words.loading} />}
      {now && (
        <>
          <section>
            <h3>{words.password.title}</h3>
            <StatusLine news={changed} />
            <Fold name="password" opened={opened}>
              <ChangePassword
                opened={opened}
                onDone={async () => {
                  changed.value = words.password.done;
                  await refresh();
                }}
              />
            </Fold>
          </section>
          <section>
            <h3>{words.recovery.title}</h3>
            <p class={now.hasRecoveryKey ? '' : 'warn-words'}>
              {now.hasRecoveryKey ? words.recovery.has : words.recovery.none}
            </p>
            <Button label={words.recovery.do} onClick={() => void makeRecoveryKey().catch(notifyError)} />
          </section>
          <SecondFactor
            isOn={now.totp}
            hasRecoveryKey={now.hasRecoveryKey}
            hasPasskeys={now.passkeys.length > 0}
            opened={opened}
            onChange={refresh}
          />
          <Passkeys
            passkeys={now.passkeys}
            offered={now.passkeysOffered}
            totp={now.totp}
            hasRecoveryKey={now.hasRecoveryKey}
            opened={opened}
            onChange={refresh}
          />
          <Sessions sessions={now.sessions} onChange={refresh} />
          <section>
            <h3>{sharing.contacts.title}</h3>
            <Button label={sharing.contacts.show} onClick={setTo(dialog, { kind: 'contacts' })} />
          </section>
          <section>
            <h3>{words.remove.title}</h3>
            <Fold name="remove" opened={opened} danger>
              <DeleteAccount opened={opened} />
            </Fold>
          </section>
        </>
      )}
    </Modal>
  );
}
