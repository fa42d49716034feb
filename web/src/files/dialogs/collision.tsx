/** Asks what to do about a file that already exists. */
import { useSignal } from '@preact/signals';
import { displayName } from '@szafa/client';
import { Button, Modal } from '../../core/controls/controls.tsx';
import { text } from '../../core/text/index.ts';
import { lastOf, parentOf } from '../../core/tree.ts';
import { type Choice, type Question, question } from '../collisions.ts';

function Ask({ asked }: { asked: Question }) {
  const forAll = useSignal(asked.more > 0);
  const { path, isFolder, mayReplace, more, answer } = asked;
  const words = text.collision;
  const name = displayName(lastOf(path));
  const folder = parentOf(path) === '' ? text.places.all : displayName(parentOf(path));
  const act = (choice: Choice) => () => answer(choice, forAll.value);
  return (
    <Modal title={words.title} onClose={() => answer(undefined, true)}>
      <p>
        <bdi>{(isFolder ? words.folder : words.file)(name, folder)}</bdi>
        {mayReplace && ` ${words.replaceHint}`}
      </p>
      {more > 0 && (
        <label class="choice">
          <input
            type="checkbox"
            checked={forAll.value}
            onChange={(event) => {
              forAll.value = event.currentTarget.checked;
            }}
          />
          <span>{words.forAll(more)}</span>
        </label>
      )}
      <footer class="modal-foot">
        <Button label={words.skip} onClick={act('skip')} />
        <Button label={words.both} onClick={act('both')} />
        {mayReplace && <Button class="primary" label={words.replace} onClick={act('replace')} />}
      </footer>
    </Modal>
  );
}

export function Collision() {
  const asked = question.value;
  return asked ? <Ask key={asked.path} asked={asked} /> : null;
}
