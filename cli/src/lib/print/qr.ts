import { qr } from '@szafa/client/node';

const QUIET = 4;
/** Dark on light, whatever colours the terminal has. */
const [PAPER, PLAIN] = ['\u001b[30;107m', '\u001b[0m'];
/** By what is dark of the upper and the lower module. */
const HALVES = [' ', '▄', '▀', '█'];

/** A QR code, two rows of modules in a line of text; nothing where the terminal is too narrow for it. */
export function drawn(text: string, columns: number): string[] {
  const modules = qr(text);
  const size = modules.length + 2 * QUIET;
  if (columns < size) return [];
  const dark = (x: number, y: number) => (modules[y - QUIET]?.[x - QUIET] ? 1 : 0);
  return Array.from({ length: Math.ceil(size / 2) }, (_, line) => {
    const halves = Array.from(
      { length: size },
      (_, x) => HALVES[dark(x, 2 * line) * 2 + dark(x, 2 * line + 1)],
    );
    return `${PAPER}${halves.join('')}${PLAIN}`;
  });
}
