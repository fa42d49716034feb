/** Uploads pasted files. */

import { phase } from '../accounts/session.ts';
import { text } from '../core/text/index.ts';
import { dialog, uploadBatches } from '../files/actions.ts';
import { fromInput } from './pick.ts';

/** The name that browsers give to a copied picture that has none. */
const NAMELESS = /^image\.(\w+)$/;

/** Names a pasted picture after the current time, so that two pasted pictures are two files. */
export function named(file: File, now: Date): File {
  const [, extension] = NAMELESS.exec(file.name) ?? [];
  if (!extension) return file;
  const two = (number: number) => String(number).padStart(2, '0');
  const day = [now.getFullYear(), two(now.getMonth() + 1), two(now.getDate())].join('-');
  const time = [now.getHours(), now.getMinutes(), now.getSeconds()].map(two).join('.');
  const { type, lastModified } = file;
  return new File([file], `${text.actions.pasted} ${day} ${time}.${extension}`, { type, lastModified });
}

export function listenForPaste(): void {
  document.addEventListener('paste', (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length === 0 || phase.value !== 'in' || dialog.value) return;
    event.preventDefault();
    const now = new Date();
    void uploadBatches(fromInput(files.map((file) => named(file, now))));
  });
}
