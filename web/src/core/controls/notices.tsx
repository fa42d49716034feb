import { dismiss, notices } from '../notices.ts';
import { text } from '../text/index.ts';
import { IconButton } from './controls.tsx';

export function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map(({ id, text: words, bad, ongoing, act }) => (
        // Screen readers must not announce every progress step.
        <div key={id} class={`notice ${bad ? 'bad' : ''}`} aria-live={ongoing ? 'off' : undefined}>
          <span dir="auto">{words}</span>
          {act && (
            <button
              type="button"
              class="notice-act"
              onClick={() => {
                dismiss(id);
                act.do();
              }}
            >
              {act.label}
            </button>
          )}
          {!ongoing && <IconButton icon="close" label={text.actions.close} onClick={() => dismiss(id)} />}
        </div>
      ))}
    </div>
  );
}
