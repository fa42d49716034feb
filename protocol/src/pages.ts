/** Lists that come in pages. */
import { limits } from './limits.ts';
import { Type } from './type.ts';

/** Adds headers to the records of a list. */
export const withHeaders = {
  headers: Type.Optional(
    Type.Literal('1', {
      description: `adds enc_params to each file, and makes pages of at most ${limits.headersPage}`,
    }),
  ),
};

/** How long a page may be, and where the one before it ended; `what` is said of the first, `cursor` is the pattern of the second. */
export const pageOf = (what: string, cursor: string) => ({
  limit: Type.Optional(
    Type.String({ pattern: '^[1-9][0-9]{0,5}$', description: `${what}, at most ${limits.listPage}` }),
  ),
  cursor: Type.Optional(Type.String({ pattern: cursor, description: 'next_cursor of the previous page' })),
});
