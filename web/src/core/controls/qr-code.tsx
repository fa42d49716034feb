import type { QrModules } from '../bridge/calls.ts';

const QUIET = 4;

/** Dark on light even in the dark theme: many scanners cannot read inverted codes. */
export function QrCode({ modules, label }: { modules: QrModules; label: string }) {
  const size = modules.length + 2 * QUIET;
  const path = modules.flatMap((row, y) =>
    row.flatMap((dark, x) => (dark ? [`M${x + QUIET} ${y + QUIET}h1v1h-1z`] : [])),
  );
  return (
    <svg class="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <path d={path.join('')} shape-rendering="crispEdges" />
    </svg>
  );
}
