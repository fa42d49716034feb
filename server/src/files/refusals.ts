import { headers } from '@szafa/protocol';
import { ApiError } from '../platform/http/api-error.ts';

/** Thrown for a second clone of a file in one directory. The header distinguishes it from a failed copy, which is also a 409. */
export class CloneExists extends ApiError {
  override name = 'CloneExists';
  override readonly headers = { [headers.conflict]: 'exists' };

  constructor() {
    super(409, 'this directory already has a clone of this file');
  }
}

export const unknownFile = () => new ApiError(404, 'no such file');
export const unknownVolume = () => new ApiError(404, 'no such volume');
export const badDirectory = () => new ApiError(403, 'you have no such directory');
export const unknownDir = () => new ApiError(404, 'you have no such directory');
export const takenDir = () => new ApiError(409, 'you already have a directory with this name');
export const overQuota = () =>
  new ApiError(507, 'this would exceed your quota, or your allowance for thumbnails and enc_params');
