import { qr } from '@szafa/client/node';
import type { Output } from './output.ts';

/** Width of the quiet zone around the code, in modules. */
const MARGIN = 4;
/** Black on white in every colour scheme: many scanners cannot read an inverted code. */
const [PAPER, PLAIN] = ['\u001b[30;107m', '\u001b[0m'];
/** Two modules per character. Index: 2 if the upper one is dark, plus 1 if the lower one is. */
const HALVES = [' ', '▄', '▀', '█'];

/** Draws a QR code, two rows of modules per line of text. Returns no lines if the terminal is too narrow. */
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

/** Shows a link as a QR code if standard error is a terminal. */
export function showQr(out: Output, link: string): void {
  if (!out.terminal || out.json || out.quiet) return;
  for (const line of drawQr(link, process.stderr.columns)) process.stderr.write(`${line}\n`);
}
