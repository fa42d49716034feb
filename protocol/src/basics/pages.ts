/** Query parameters of lists with pages. */
import { limits } from './limits.ts';
import { Type } from './type.ts';

export const withHeaders = {
  headers: Type.Optional(
    Type.Literal('1', {
      description: `adds enc_params to each file, and makes pages of at most ${limits.headersPage}`,
    }),
  ),
};

/** `what` describes the limit, `cursor` is the pattern of cursors. */
export const pageOf = (what: string, cursor: string) => ({
  limit: Type.Optional(
    Type.String({ pattern: '^[1-9][0-9]{0,5}$', description: `${what}, at most ${limits.listPage}` }),
  ),
  cursor: Type.Optional(Type.String({ pattern: cursor, description: 'next_cursor of the previous page' })),
});
