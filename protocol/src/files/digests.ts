/** The digests of a file's volumes, which a client compares with the file's header before it reads a volume. */
import { ErrorBody } from '../basics/resources.ts';

/** SHA-256. */
export const DIGEST_BYTES = 32;

export const digestAnswers = {
  200: 'the digests, 32 bytes a volume, with an ETag made from their SHA-256',
  206: 'the range asked for',
  304: 'the ETag still matches',
  404: ErrorBody,
  416: ErrorBody,
};
