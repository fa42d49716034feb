/** Drag and drop of rows, and of files from disk. Any element with the path of a folder in `data-drop` is a target. */
import { batch, signal } from '@preact/signals';
import { fromDrop } from '../transfers/pick.ts';
import { uploadBatches } from './actions.ts';
import { here, place, type Row } from './file-list.ts';
import { mayMove, move } from './operations.ts';
import { meant } from './selection.ts';

/** Data type of dragged rows. The data itself is empty, so other pages and programs learn nothing about the files. */
const OURS = 'application/x-szafa';

const dragged = signal<Row[] | null>(null);
/** Path of the folder that a drop would go to. */
export const dropPath = signal<string | undefined>(undefined);
/** Files from disk are being dragged over the page. */
export const filesOver = signal(false);

export function startDrag(event: DragEvent, row: Row): void {
  dragged.value = meant(row);
  event.dataTransfer!.setData(OURS, '');
  event.dataTransfer!.effectAllowed = 'move';
}

function pathUnder({ target }: DragEvent): string | undefined {
  return (target as Element | null)?.closest?.<HTMLElement>('[data-drop]')?.dataset['drop'];
}

function end(): void {
  batch(() => {
    dragged.value = null;
    dropPath.value = undefined;
    filesOver.value = false;
  });
}

function over(event: DragEvent): void {
  const path = pathUnder(event);
  const rows = dragged.value;
  if (rows) {
    const fits = path !== undefined && mayMove(rows, path);
    dropPath.value = fits ? path : undefined;
    if (!fits) return;
    event.dataTransfer!.dropEffect = 'move';
  } else if (event.dataTransfer?.types.includes('Files')) {
    filesOver.value = true;
    dropPath.value = path ?? (place.value.at === 'folder' ? here.value.path : '');
  } else return;
  event.preventDefault();
}

function drop(event: DragEvent): void {
  const rows = dragged.value;
  const path = dropPath.value;
  const hasFiles = filesOver.value;
  end();
  if (path === undefined || !(rows || hasFiles)) return;
  event.preventDefault();
  if (rows) void move(rows, path);
  else void uploadBatches(fromDrop(event.dataTransfer!), path);
}

/** Returns a function that stops listening. */
export function listenForDrags(): () => void {
  const on: {
    [N in 'dragenter' | 'dragover' | 'dragleave' | 'drop' | 'dragend']: (event: DragEvent) => void;
  } = {
    dragenter: over,
    dragover: over,
    // Without a related target, the pointer left the window and not just an element.
    dragleave: ({ relatedTarget }) => {
      if (relatedTarget === null && !dragged.value) end();
    },
    drop,
    dragend: end,
  };
  const all = Object.entries(on) as [keyof typeof on, (event: DragEvent) => void][];
  for (const [name, listener] of all) document.addEventListener(name, listener);
  return () => {
    for (const [name, listener] of all) document.removeEventListener(name, listener);
  };
}
