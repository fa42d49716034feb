import type { Fault } from '../bridge/messages.ts';
import { aboutKeys } from '../text/index.ts';

/** Explains unexpected keys, and what to do about them. */
export function KeySteps({ fault }: { fault: Fault }) {
  const { why, next } = aboutKeys(fault);
  return (
    <>
      <p>{why}</p>
      <ul class="steps">
        {next.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ul>
    </>
  );
}

/** The same with a title, inside a form. */
export function KeyTrouble({ fault }: { fault: Fault }) {
  return (
    <div class="key-trouble">
      <strong>{aboutKeys(fault).title}</strong>
      <KeySteps fault={fault} />
    </div>
  );
}
