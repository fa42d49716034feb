import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

/** The id of a volume group, and of the file it becomes. */
export const newFileId = () => randomBytes(16).toString('hex');
/** A capability: anyone who knows it may use the transfer. */
export const newTransferId = () => randomBytes(20).toString('base64url');
export const newToken = () => randomBytes(32).toString('base64url');

/** Tokens are stored only as hashes. */
export const hashToken = (token: string) => hash('sha256', token, 'base64url');

export function sameHash(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(a), Buffer.from(b));
}
