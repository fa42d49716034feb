import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { RuleError } from './names.ts';
import { At, type Ending, endings, Hash, Id, ListedId, Sealed, Token } from './share-parts.ts';
import { Type } from './type.ts';

const Letter = Sealed(
  limits.shareLetterChars,
  'base64url of what opens it, which the owner has sealed for that account, and signed',
);

const Own = Sealed(
  limits.shareOwnChars,
  'base64url of what the owner gets back in the list: the client seals it',
);

export const ShareBody = Type.Object(
  {
    id: Id,
    files: Type.Array(Type.String(), {
      minItems: 1,
      maxItems: limits.shareFiles,
      description:
        "the file_id of each, of the caller's own files; visitors know them by their number in this list",
    }),
    header: Sealed(limits.shareHeaderChars, 'base64url of what visitors get: the client seals it'),
    access: Type.Optional(
      Type.String({
        ...Hash(
          'SHA-256 of what visitors send in X-Share-Access, in hex: for a link; a share has this or `to`',
        ),
        examples: ['0'.repeat(64)],
      }),
    ),
    to: Type.Optional(
      Type.Object(
        {
          username: Type.String({ description: 'the account that it is for, and nobody else' }),
          letter: Letter,
          identity: Type.Optional(
            Type.String({
              ...Hash(
                'SHA-256 of the identity of that account, in hex: whoever has asked for it learns nothing new, and it does not count as another question about a name',
              ),
              examples: ['0'.repeat(64)],
            }),
          ),
        },
        { description: 'for a share with an account' },
      ),
    ),
    own: Own,
    expires_at: Type.Optional(At('ISO 8601, in the future; null or absent: it does not expire')),
    downloads: Type.Optional(
      Type.Union([Type.Integer({ minimum: 1, maximum: limits.shareDownloads }), Type.Null()], {
        description: 'how many tickets there are for it; null or absent: any number',
      }),
    ),
  },
  { $id: 'NewShare' },
);
export type ShareBody = Static<typeof ShareBody>;

export const NotShared = Type.Object(
  {
    error: Type.String(),
    files: Type.Array(Type.String(), { description: 'those that are no files of the caller' }),
  },
  { $id: 'NotShared' },
);

export const ListedShare = Type.Object(
  {
    id: ListedId,
    own: Type.String(),
    to: Type.Union([Type.String(), Type.Null()], { description: 'the account that it is for; null: a link' }),
    created_at: Type.String({ description: 'ISO 8601, UTC' }),
    expires_at: At('ISO 8601, UTC; null: it does not expire'),
    downloads: Type.Union([Type.Integer(), Type.Null()], {
      description: 'how many there may be; null: any number',
    }),
    downloaded: Type.Integer({ description: 'tickets that were taken' }),
    files: Type.Integer({ description: 'how many were shared' }),
    missing: Type.Integer({
      description: 'how many of them are deleted, or in the trash: they are not served',
    }),
    ended: Type.Unsafe<Ending | null>(
      Type.Union([Type.String(), Type.Null()], {
        description: `why it opens nothing any more: ${endings.join(', ')}; null while it does`,
      }),
    ),
  },
  { $id: 'Share' },
);
export type ListedShare = Static<typeof ListedShare>;

export const OwnBody = Type.Object(
  {
    own: Own,
    match: Type.String({
      ...Hash('SHA-256 of the `own` that this takes the place of, in hex'),
      examples: ['0'.repeat(64)],
    }),
  },
  { $id: 'OwnOfShare' },
);
export type OwnBody = Static<typeof OwnBody>;

/** A share as the account sees it that it is for. */
export const ReceivedShare = Type.Object(
  {
    id: ListedId,
    from: Type.String({ description: 'whose files they are' }),
    identity: Type.String({ description: 'the identity of that account, as it is now' }),
    letter: Type.String({ description: 'as the owner gave it' }),
    created_at: Type.String({ description: 'ISO 8601, UTC' }),
    expires_at: At('ISO 8601, UTC; null: it does not expire'),
    downloads_left: Type.Union([Type.Integer(), Type.Null()], { description: 'null: any number' }),
    files: Type.Integer({ description: 'how many were shared' }),
    missing: Type.Integer({ description: 'how many of them are deleted, or in the trash' }),
  },
  { $id: 'ReceivedShare' },
);
export type ReceivedShare = Static<typeof ReceivedShare>;

export const OpenedShare = Type.Object(
  {
    header: Type.String({ description: 'as the owner gave it' }),
    expires_at: At('ISO 8601, UTC; null: it does not expire'),
    downloads_left: Type.Union([Type.Integer(), Type.Null()], { description: 'null: any number' }),
    missing: Type.Array(Type.Integer(), { description: 'numbers of files that are not there any more' }),
  },
  { $id: 'OpenedShare' },
);
export type OpenedShare = Static<typeof OpenedShare>;

export const TicketBody = Type.Object(
  {
    ticket: Token('what names one download'),
  },
  { $id: 'NewTicket' },
);
export type TicketBody = Static<typeof TicketBody>;

export const ShareEnded = Type.Object(
  { error: Type.String(), ended: Type.String({ description: endings.join(', ') }) },
  { $id: 'ShareEnded' },
);

/** What a schema cannot say. */
export function checkShare({ files, access, to }: Pick<ShareBody, 'files' | 'access' | 'to'>): void {
  if ((access === undefined) === (to === undefined))
    throw new RuleError('a share has either access, for a link, or to, for an account');
  if (new Set(files).size !== files.length) throw new RuleError('files: one of them occurs twice');
}
