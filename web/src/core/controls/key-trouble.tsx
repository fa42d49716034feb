import type { Fault } from '../bridge/messages.ts';
import { aboutKeys } from '../text/index.ts';

/** What to do about keys that are not those of before. */
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

/** The same with what is so above it, inside a form. */
export function KeyTrouble({ fault }: { fault: Fault }) {
  return (
    <div class="key-trouble">
      <strong>{aboutKeys(fault).title}</strong>
      <KeySteps fault={fault} />
    </div>
  );
}
