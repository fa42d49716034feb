import type { CallOptions } from '../call.ts';
import type { OpenContext } from '../transfers/download/context.ts';
import type { UploadOptions } from '../transfers/upload/options.ts';
import type { Directories } from './directories.ts';
import type { Tree } from './tree.ts';

/** What works on a tree needs. */
export interface TreeContext extends OpenContext {
  directories: Directories;
  /** Listed anew. */
  tree(options?: CallOptions): Promise<Tree>;
  /** A file of no bytes, whose path ends in a slash. */
  uploadMarker(path: string, options?: FolderOptions): Promise<void>;
}

/** For everything that works on a tree. @public */
export interface TreeOptions extends CallOptions {
  /** As it was seen; it is listed anew unless told. */
  tree?: Tree | undefined;
  /** Files done, of all. */
  onProgress?: ((done: number, total: number) => void) | undefined;
}

/** What is kept of the folder that it is made from. @public */
export interface FolderOptions
  extends TreeOptions,
    Pick<UploadOptions, 'mode' | 'special' | 'mtime' | 'nanos' | 'after'> {
  /** Show the name of a folder at the top to the service. */
  plain?: boolean | undefined;
}

/** @public */
export interface MoveOptions extends TreeOptions {
  /** What is there already becomes an older version; without it that is an ExistsError. */
  asVersion?: boolean | undefined;
}

/** @public */
export interface CopyOptions extends MoveOptions {
  /** Of what is copied together, ids of hard links and those of the copies, which are no names of the same file. */
  hardlinks?: Map<string, string> | undefined;
}
