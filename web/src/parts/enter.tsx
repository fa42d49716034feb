import { useSignal } from '@preact/signals';
import { SECRET_CHARS, weaknessOf } from '@szafa/client/strength';
import { limits } from '@szafa/protocol';
import { useEffect } from 'preact/hooks';
import { call, faultOf } from '../page/core.ts';
import { enter } from '../page/session.ts';
import { explain, text } from '../text.ts';
import { IconButton } from './controls.tsx';
import { Icon } from './icon.tsx';

interface FieldProps {
  label: string;
  hint?: string | undefined;
  name: string;
  type: 'text' | 'password';
  autocomplete: AutoFill;
  value: string;
  onInput(value: string): void;
}

function Field({ label, hint, name, type, autocomplete, value, onInput }: FieldProps) {
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <input
        id={name}
        name={name}
        // The types of JSX tell the kinds of inputs apart; these two take the same attributes.
        type={type as 'text'}
        value={value}
        required
        autocomplete={autocomplete}
        autocapitalize="none"
        spellcheck={false}
        maxLength={name === 'username' ? limits.usernameChars.max : SECRET_CHARS.max}
        aria-describedby={hint ? `${name}-hint` : undefined}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {hint && (
        <small id={`${name}-hint`} class="hint">
          {hint}
        </small>
      )}
    </div>
  );
}

/** What is wrong with a new password; nothing is ''. */
async function refusal(username: string, password: string, repeat: string): Promise<string> {
  if (password !== repeat) return text.enter.different;
  try {
    const weakness = await weaknessOf(password, [username]);
    return weakness ? text.enter.weak[weakness] : '';
  } catch {
    // The estimate comes with the first registration; nothing else of it can fail.
    return explain({ code: 'part-missing', message: '' });
  }
}

/** Of a link like /#invite=…: it is taken out of the address, which others may see. */
function invitation(): string {
  const [, found = ''] = /^#invite=([\w-]+)$/.exec(location.hash) ?? [];
  if (found) history.replaceState(null, '', location.pathname);
  return found;
}

export function Enter() {
  const invite = useSignal('');
  const registration = useSignal('open');
  const how = useSignal<'login' | 'register'>('login');
  const username = useSignal('');
  const password = useSignal('');
  const repeat = useSignal('');
  const understood = useSignal(false);
  const shown = useSignal(false);
  const working = useSignal(false);
  const trouble = useSignal('');
  const words = text.enter;
  const isNew = how.value === 'register';
  const needsInvite = isNew && (registration.value === 'invite' || invite.value !== '');

  useEffect(() => {
    invite.value = invitation();
    if (invite.value) how.value = 'register';
  }, []);
  useEffect(() => {
    if (!isNew) return;
    // A server that is away is told when it is needed.
    call('registration').then(
      (found) => {
        registration.value = found;
      },
      () => undefined,
    );
  }, [isNew]);

  const submit = async (event: Event) => {
    event.preventDefault();
    working.value = true;
    try {
      trouble.value = isNew ? await refusal(username.value, password.value, repeat.value) : '';
      if (trouble.value) return;
      await enter(how.value, username.value, password.value, needsInvite ? invite.value.trim() : undefined);
    } catch (error) {
      const refused = needsInvite ? words.uninvited : words.closed;
      const forbidden = isNew ? refused : words.disabled;
      trouble.value = explain(faultOf(error), { 401: words.wrong, 403: forbidden, 409: words.taken });
    } finally {
      working.value = false;
    }
  };

  const type = shown.value ? 'text' : 'password';
  return (
    <main class="enter">
      <div class="enter-card">
        <header class="enter-head">
          <span class="mark">
            <Icon name="wardrobe" size={34} />
          </span>
          <h1>{text.name}</h1>
          <p>{text.tagline}</p>
        </header>
        <form onSubmit={submit} aria-label={isNew ? words.register : words.signIn}>
          <Field
            label={words.username}
            hint={isNew ? words.usernameRule : undefined}
            name="username"
            type="text"
            autocomplete="username"
            value={username.value}
            onInput={(value) => {
              username.value = value;
            }}
          />
          <div class="with-eye">
            <Field
              label={words.password}
              hint={isNew ? words.passwordRule : undefined}
              name="password"
              type={type}
              autocomplete={isNew ? 'new-password' : 'current-password'}
              value={password.value}
              onInput={(value) => {
                password.value = value;
              }}
            />
            <IconButton
              icon="eye"
              class="eye"
              label={shown.value ? words.hide : words.show}
              onClick={() => {
                shown.value = !shown.value;
              }}
            />
          </div>
          {isNew && (
            <>
              <Field
                label={words.repeat}
                name="repeat"
                type={type}
                autocomplete="new-password"
                value={repeat.value}
                onInput={(value) => {
                  repeat.value = value;
                }}
              />
              {needsInvite && (
                <Field
                  label={words.invite}
                  hint={words.inviteRule}
                  name="invite"
                  type="text"
                  autocomplete="off"
                  value={invite.value}
                  onInput={(value) => {
                    invite.value = value;
                  }}
                />
              )}
              <p class="caution">
                <Icon name="lock" />
                <span>{words.noReset}</span>
              </p>
              <label class="check">
                <input
                  type="checkbox"
                  name="understood"
                  required
                  checked={understood.value}
                  onChange={(event) => {
                    understood.value = event.currentTarget.checked;
                  }}
                />
                <span>{words.understood}</span>
              </label>
            </>
          )}
          <p class="trouble" role="alert">
            {trouble.value}
          </p>
          <button type="submit" class="button primary wide" disabled={working.value}>
            {working.value ? words.working : isNew ? words.register : words.signIn}
          </button>
        </form>
        <button
          type="button"
          class="link"
          onClick={() => {
            how.value = isNew ? 'login' : 'register';
            trouble.value = '';
          }}
        >
          {isNew ? words.toSignIn : words.toRegister}
        </button>
      </div>
      <ul class="points">
        {words.points.map((point) => (
          <li key={point}>
            <Icon name="check" size={16} />
            {point}
          </li>
        ))}
      </ul>
    </main>
  );
}
