/** About the app, its keyboard shortcuts, and the command-line tool. */

import { Modal } from '../core/controls/controls.tsx';
import { text } from '../core/text/index.ts';
import { closeDialog } from '../files/actions.ts';

export function About() {
  return (
    <Modal title={text.about.title} onClose={closeDialog}>
      {text.about.lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
      <h3>{text.about.keys}</h3>
      <dl class="keys">
        {text.about.shortcuts.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <h3>{text.about.command}</h3>
      <p>
        {text.about.commandHow}
        <code>curl -O {globalThis.location.origin}/szafa.cjs</code>
        <code>node szafa.cjs --help</code>
      </p>
      <p>
        {text.about.commandDigest}
        <code>{COMMAND_SHA256}</code>
      </p>
      <p>
        <a href="/docs">{text.about.docs}</a>
      </p>
    </Modal>
  );
}
