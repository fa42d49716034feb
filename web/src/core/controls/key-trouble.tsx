import type { Fault } from '../bridge/messages.ts';
import { aboutKeys } from '../text/index.ts';

/** Explains why the server's keys were rejected and what to do. */
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

/** KeySteps with a title, for use inside a form. */
export function KeyTrouble({ fault }: { fault: Fault }) {
  return (
    <div class="key-trouble">
      <strong>{aboutKeys(fault).title}</strong>
      <KeySteps fault={fault} />
    </div>
  );
}
