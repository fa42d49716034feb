import type { CallOptions } from '../call.ts';
import type { OpenContext } from '../transfers/download/context.ts';
import type { UploadOptions } from '../transfers/upload/options.ts';
import type { Directories } from './directories.ts';
import type { Tree } from './tree.ts';

/** Dependencies of operations on a tree. */
export interface TreeContext extends OpenContext {
  directories: Directories;
  /** Fetches the tree again. */
  tree(options?: CallOptions): Promise<Tree>;
  /** Uploads a folder record: an empty file whose path ends in a slash. */
  uploadMarker(path: string, options?: FolderOptions): Promise<void>;
}

/** Options of operations on a tree. @public */
export interface TreeOptions extends CallOptions {
  /** The tree as the caller saw it; fetched by default. */
  tree?: Tree | undefined;
  onProgress?: ((done: number, total: number) => void) | undefined;
}

/** Attributes of a folder. @public */
export interface FolderOptions
  extends TreeOptions,
    Pick<UploadOptions, 'mode' | 'special' | 'mtime' | 'nanos' | 'after'> {
  /** Show the name of a first-level folder to the server. */
  plain?: boolean | undefined;
}

/** @public */
export interface MoveOptions extends TreeOptions {
  /** Turns an existing file into an older version; without this option, an ExistsError is thrown. */
  asVersion?: boolean | undefined;
}

/** @public */
export interface CopyOptions extends MoveOptions {
  /**
   * Pass the same map for all copies of one operation. It maps hard-link ids to those of the copies, which stay linked among themselves
   * only.
   */
  hardlinks?: Map<string, string> | undefined;
}
