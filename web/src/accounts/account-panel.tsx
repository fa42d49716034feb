/** What somebody does to their own account. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Device, Fault, Overview } from '../core/bridge/calls.ts';
import { call, faultOf } from '../core/call.ts';
import { Modal, Spinner } from '../core/controls/controls.tsx';
import { Trouble } from '../core/controls/faults.tsx';
import { Field, Form, NewSecret, refuse, requireGood, useForm } from '../core/controls/form.tsx';
import { date } from '../core/format.ts';
import { tellFault } from '../core/notices.ts';
import { explain, text } from '../core/text/index.ts';
import { askToLeave, closeDialog, dialog } from '../files/actions.ts';
import { dirNames, dirs, items, listing } from '../files/file-list.ts';
import { words as sharing } from '../sharing/text/index.ts';
import {
  CurrentPassword,
  Fold,
  Foot,
  type Opened,
  type PartProps,
  requireStill,
  Said,
  wrong,
} from './fold.tsx';
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
    await requireGood(who.username, next.value, repeat.value);
    requireStill(who);
    await call('changePassword', current.value, next.value);
    opened.value = null;
    await onDone();
  });
  return (
    <Form form={form} label={words.password.do} {...wrong()}>
      <CurrentPassword label={words.currentPassword} value={current} />
      <NewSecret label={words.password.next} value={next} repeat={repeat} />
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

/** The server notes a use once an hour: the day is what is certain. */
function lastUse({ usedAt, current }: Device): string {
  const { devices } = words;
  if (current) return devices.usedNow;
  const isToday = new Date(usedAt).toDateString() === new Date().toDateString();
  return isToday ? devices.usedToday : devices.used(date(usedAt));
}

/** What is to know about a session or a token, in one line. */
function aboutDevice(device: Device): string {
  const { devices } = words;
  const { scope, dirId, expiresAt } = device;
  const folder = dirId === null ? undefined : dirNames.value.get(dirId);
  return [
    lastUse(device),
    devices.scope[scope],
    dirId !== null && (folder === undefined ? devices.oneFolder : devices.folder(folder)),
    expiresAt !== null && devices.ends(date(expiresAt)),
  ]
    .filter(Boolean)
    .join(', ');
}

interface DevicesProps {
  devices: Device[];
  /** The list is another one. */
  onChange(): Promise<void>;
}

function DeviceRow({ device, onEnd }: { device: Device; onEnd(): void }) {
  const name = device.name || words.devices.unnamed;
  return (
    <li>
      <div class="device-words">
        <bdi>{name}</bdi>
        {device.current && <span class="badge own">{words.devices.current}</span>}
        <small class="hint">{aboutDevice(device)}</small>
      </div>
      {device.current ? (
        <button
          type="button"
          class="button"
          onClick={() => {
            closeDialog();
            void askToLeave().catch(tellFault);
          }}
        >
          {text.bar.signOut}
        </button>
      ) : (
        <button type="button" class="button" aria-label={words.devices.endOf(name)} onClick={onEnd}>
          {words.devices.end}
        </button>
      )}
    </li>
  );
}

function Devices({ devices, onChange }: DevicesProps) {
  const news = useSignal('');
  const end = async (ending: Promise<number>) => {
    try {
      const count = await ending;
      await onChange();
      news.value = words.devices.ended(count);
    } catch (error) {
      // Somebody else may have ended it.
      await onChange();
      news.value = explain(faultOf(error));
    }
  };
  return (
    <section>
      <h3>{words.devices.title}</h3>
      <ul class="devices">
        {devices.map((device) => (
          <DeviceRow
            key={device.id}
            device={device}
            onEnd={() => void end(call('endSession', device.id).then(() => 1))}
          />
        ))}
      </ul>
      <Said news={news} />
      {devices.length > 1 && (
        <button type="button" class="button" onClick={() => void end(call('endOtherSessions'))}>
          {words.devices.endOthers}
        </button>
      )}
    </section>
  );
}

export function AccountPanel() {
  const overview = useSignal<Overview | null>(null);
  const trouble = useSignal<Fault | null>(null);
  const opened = useSignal<Opened>(null);
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
            <Said news={changed} />
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
            <button type="button" class="button" onClick={() => void makeRecoveryKey().catch(tellFault)}>
              {words.recovery.do}
            </button>
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
          <Devices devices={now.devices} onChange={refresh} />
          <section>
            <h3>{sharing.contacts.title}</h3>
            <button
              type="button"
              class="button"
              onClick={() => {
                dialog.value = { kind: 'contacts' };
              }}
            >
              {sharing.contacts.show}
            </button>
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
