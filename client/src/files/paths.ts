/** Paths as they are sealed: from the top, parted by `/`, letter for letter; two spellings of one letter are two paths. */
import { DIR_NAME_BYTES, utf8 } from '@szafa/format';
import { limits } from '@szafa/protocol';
import { NameError } from '../errors.ts';

/** What no path may have between two slashes: it would lead elsewhere on a disk, or nowhere. */
const NO_SEGMENTS = new Set(['', '.', '..']);

/** The parts of a path, whoever wrote it; what is no part of a path is left out. @public */
export function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => !NO_SEGMENTS.has(segment));
}

/** A path for a file, or for a folder, that may be written; otherwise a NameError says why not. @public */
export function checkPath(path: string): string {
  const shown = path.length > 100 ? `${path.slice(0, 100)}…` : path;
  const wrong = (why: string) => new NameError(`${JSON.stringify(shown)} is no path: ${why}`);
  if (path === '') throw wrong('it is empty');
  if (path.includes('\0')) throw wrong('it contains NUL');
  if (!path.isWellFormed()) throw wrong('it is not valid Unicode');
  const segments = path.split('/');
  if (segments.length > limits.pathParts) throw wrong(`it has more than ${limits.pathParts} parts`);
  for (const segment of segments) {
    if (segment === '') throw wrong('a name in it is empty');
    if (NO_SEGMENTS.has(segment)) throw wrong(`${segment} is no name`);
  }
  return path;
}

/** The last part. @public */
export function lastOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** The folder that it is in; '' is the top. @public */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

/** @public */
export function joinPath(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}

/** The same with a number before the ending of its name. @public */
export function numberedPath(path: string, number: number): string {
  const name = lastOf(path);
  const dot = name.lastIndexOf('.');
  const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
  return joinPath(parentOf(path), `${stem} (${number})${ending}`);
}

/** The first part of a path that has several: '' for what lies at the top. */
export function firstOf(path: string): string {
  return path.slice(0, Math.max(0, path.indexOf('/')));
}

/** What follows the first part; all of it for what lies at the top. */
export function belowFirst(path: string): string {
  return path.slice(path.indexOf('/') + 1);
}

/** Whether it is this folder, or lies in it at any depth. @public */
export function isWithin(path: string, folder: string): boolean {
  return folder === '' || path === folder || path.startsWith(`${folder}/`);
}

/** The name of the directory that the service files it in; undefined for what lies at the top, or where that name is too long for one. */
export function dirNameOf(path: string): string | undefined {
  const first = firstOf(path);
  return first !== '' && utf8(first).length <= DIR_NAME_BYTES ? first : undefined;
}

/** Whether a symbolic link leads to something in the folder at the top of its own path, or beside it where it is in none: no other is given away or packed. @public */
export function leadsWithin(path: string, target: string): boolean {
  if (target.startsWith('/')) return false;
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  // Behind a name, which may be a link itself, the way up leads anywhere.
  const up = parts.lastIndexOf('..') + 1;
  const folders = path.split('/').length - 1;
  return parts.slice(0, up).every((part) => part === '..') && up < Math.max(folders, 1);
}

/** Where a symbolic link for which `leadsWithin` holds leads to. */
export function ledTo(path: string, target: string): string {
  const parts = segmentsOf(path).slice(0, -1);
  for (const part of target.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts.join('/');
}
