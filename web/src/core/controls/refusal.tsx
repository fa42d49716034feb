import { text } from '../text/index.ts';
import { Placard } from './controls.tsx';

/** Shown instead of everything else where the browser cannot encrypt. */
export function Refusal({ secure, missing }: { secure: boolean; missing: string[] }) {
  const { insecure, unsupported } = text;
  return (
    <main class="middle refusal">
      <Placard icon="lock" title={secure ? unsupported.title : insecure.title}>
        <p>{secure ? unsupported.why : insecure.why}</p>
        {secure ? (
          <>
            <p>{unsupported.what}</p>
            <p class="hint">{unsupported.lacks(missing)}</p>
          </>
        ) : (
          <>
            <h3>{insecure.what}</h3>
            <ol>
              {insecure.steps.map((step) => (
                <li key={step}>{step}</li>
              ))}
            </ol>
          </>
        )}
      </Placard>
    </main>
  );
}
