/** First steps, shown while the account is empty. */

import { EmptyState } from '../../core/controls/controls.tsx';
import { Icon, type IconName } from '../../core/controls/icon.tsx';
import { setTo } from '../../core/signals.ts';
import { text } from '../../core/text/index.ts';
import { dialog } from '../actions.ts';

interface StepProps {
  icon: IconName;
  words: { title: string; why: string };
  onClick(): void;
}

function Step({ icon, words, onClick }: StepProps) {
  return (
    <li>
      <button type="button" class="step" onClick={onClick}>
        <Icon name={icon} />
        <strong>{words.title}</strong>
        <span>{words.why}</span>
      </button>
    </li>
  );
}

export function FirstSteps({ onNewFolder }: { onNewFolder(): void }) {
  const { upload, folder, recovery, command } = text.firstSteps;
  return (
    <EmptyState icon="wardrobe" title={text.list.emptyTitle}>
      <p>{text.list.emptyBody}</p>
      <ul class="first-steps" aria-label={text.firstSteps.title}>
        <Step icon="upload" words={upload} onClick={() => document.getElementById('upload')?.click()} />
        <Step icon="folderAdd" words={folder} onClick={onNewFolder} />
        <Step icon="lock" words={recovery} onClick={setTo(dialog, { kind: 'account' })} />
        <Step icon="text" words={command} onClick={setTo(dialog, { kind: 'about' })} />
      </ul>
    </EmptyState>
  );
}
