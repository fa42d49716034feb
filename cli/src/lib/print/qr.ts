import { qr } from '@szafa/client/node';
import type { Output } from './output.ts';

/** Empty modules around the code. */
const MARGIN = 4;
/** Dark on light, whatever colours the terminal has. */
const [PAPER, PLAIN] = ['\u001b[30;107m', '\u001b[0m'];
/** Indexed by the dark ones of the upper and the lower module. */
const HALVES = [' ', '▄', '▀', '█'];

/** Draws a QR code with two rows of modules in a line of text; no line if the terminal is too narrow. */
export function drawQr(text: string, columns: number): string[] {
  const modules = qr(text);
  const size = modules.length + 2 * MARGIN;
  if (columns < size) return [];
  const dark = (x: number, y: number) => (modules[y - MARGIN]?.[x - MARGIN] ? 1 : 0);
  return Array.from({ length: Math.ceil(size / 2) }, (_, line) => {
    const half = (x: number) => HALVES[dark(x, 2 * line) * 2 + dark(x, 2 * line + 1)];
    const halves = Array.from({ length: size }, (_, x) => half(x));
    return `${PAPER}${halves.join('')}${PLAIN}`;
  });
}

/** Shows a link as a QR code on a terminal. */
export function showQr(out: Output, link: string): void {
  if (!out.terminal || out.json || out.quiet) return;
  for (const line of drawQr(link, process.stderr.columns)) process.stderr.write(`${line}\n`);
}
