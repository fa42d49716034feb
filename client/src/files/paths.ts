/** Sealed paths: they start at the root, use `/` as separator, and are compared code point by code point. */
import { DIR_NAME_BYTES, utf8 } from '@szafa/format';
import { limits } from '@szafa/protocol';
import { NameError } from '../errors.ts';

/** Segments that a path must not contain: on a disk they lead elsewhere. */
const NO_SEGMENTS = new Set(['', '.', '..']);

/** Splits an unchecked path and drops segments that are not allowed. @public */
export function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => !NO_SEGMENTS.has(segment));
}

/** Returns the path if it may be stored. @throws NameError @public */
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

/** Returns the last segment. @public */
export function lastOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Returns the path of the containing folder; '' is the root. @public */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

/** @public */
export function joinPath(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`;
}

/** Adds a number before the extension. @public */
export function numberedPath(path: string, number: number): string {
  const name = lastOf(path);
  const dot = name.lastIndexOf('.');
  const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
  return joinPath(parentOf(path), `${stem} (${number})${ending}`);
}

/** Returns the first segment; '' for a path of one segment. */
export function firstOf(path: string): string {
  return path.slice(0, Math.max(0, path.indexOf('/')));
}

/** Returns the path below the first segment; the path itself if it has only one. */
export function belowFirst(path: string): string {
  return path.slice(path.indexOf('/') + 1);
}

/** Whether a path is this folder or in it, at any depth. @public */
export function isWithin(path: string, folder: string): boolean {
  return folder === '' || path === folder || path.startsWith(`${folder}/`);
}

/** Returns the name of the server's directory for a path; undefined for the root, or if the name is too long. */
export function dirNameOf(path: string): string | undefined {
  const first = firstOf(path);
  return first !== '' && utf8(first).length <= DIR_NAME_BYTES ? first : undefined;
}

/**
 * Whether a symbolic link stays within the first folder of its own path, or at the root if it is there. Other links are neither shared
 * nor packed. @public
 */
export function leadsWithin(path: string, target: string): boolean {
  if (target.startsWith('/')) return false;
  const parts = target.split('/').filter((part) => part !== '' && part !== '.');
  // A `..` after a name could lead anywhere, since the name may be a link itself.
  const up = parts.lastIndexOf('..') + 1;
  const folders = path.split('/').length - 1;
  return parts.slice(0, up).every((part) => part === '..') && up < Math.max(folders, 1);
}

/** Resolves the target of a symbolic link for which `leadsWithin` holds. */
export function ledTo(path: string, target: string): string {
  const parts = segmentsOf(path).slice(0, -1);
  for (const part of target.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return parts.join('/');
}
