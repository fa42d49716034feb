/** Shares: schemas, rules and routes. */
import type { Static } from 'typebox';
import { StoredIdentity } from '../accounts/accounts.ts';
import { headers, limits } from '../basics/limits.ts';
import { RuleError } from '../basics/names.ts';
import { ErrorBody, errors } from '../basics/resources.ts';
import type { Route } from '../basics/route.ts';
import { Type } from '../basics/type.ts';
import { digestAnswers } from '../files/digests.ts';
import { type Ending, Expiry, endings, Hash, Id, ListedId, Sealed, Token } from './share-fields.ts';

const Letter = Sealed(
  limits.shareLetterChars,
  'base64url: the key of the share, sealed for that account and signed by the owner',
);

const Own = Sealed(
  limits.shareOwnChars,
  'base64url of data for the owner, sealed by the client; returned in lists',
);

export const ShareBody = Type.Object(
  {
    id: Id,
    files: Type.Array(Type.String(), {
      minItems: 1,
      maxItems: limits.shareFiles,
      description:
        "the file_id of each of the caller's files; visitors name them by their position in this list, from 1",
    }),
    header: Sealed(limits.shareHeaderChars, 'base64url of the data for visitors, sealed by the client'),
    access: Type.Optional(
      Type.String({
        ...Hash(
          'for a link: SHA-256 in hex of the value that visitors send in X-Share-Access; a share has this or `to`',
        ),
        examples: ['0'.repeat(64)],
      }),
    ),
    to: Type.Optional(
      Type.Object(
        {
          username: Type.String({ description: 'the only account that can open it' }),
          letter: Letter,
          identity: Type.Optional(
            Type.String({
              ...Hash(
                'SHA-256 in hex of the identity of that account; a caller who knows it is not limited in looking up names',
              ),
              examples: ['0'.repeat(64)],
            }),
          ),
        },
        { description: 'for a share with an account' },
      ),
    ),
    own: Own,
    expires_at: Type.Optional(Expiry('ISO 8601, in the future; null or absent: it does not expire')),
    downloads: Type.Optional(
      Type.Union([Type.Integer({ minimum: 1, maximum: limits.shareDownloads }), Type.Null()], {
        description: 'maximum number of downloads; null or absent: no limit',
      }),
    ),
  },
  { $id: 'NewShare' },
);
export type ShareBody = Static<typeof ShareBody>;

export const NotShared = Type.Object(
  {
    error: Type.String(),
    files: Type.Array(Type.String(), { description: 'those that are not files of the caller' }),
  },
  { $id: 'NotShared' },
);

export const ListedShare = Type.Object(
  {
    id: ListedId,
    own: Type.String(),
    to: Type.Union([Type.String(), Type.Null()], { description: 'the recipient; null: a link' }),
    created_at: Type.String({ description: 'ISO 8601, UTC' }),
    expires_at: Expiry('ISO 8601, UTC; null: it does not expire'),
    downloads: Type.Union([Type.Integer(), Type.Null()], {
      description: 'maximum number of downloads; null: no limit',
    }),
    downloaded: Type.Integer({ description: 'downloads so far' }),
    files: Type.Integer({ description: 'number of shared files' }),
    missing: Type.Integer({
      description: 'how many of them are deleted or in the trash, and cannot be read',
    }),
    ended: Type.Unsafe<Ending | null>(
      Type.Union([Type.String(), Type.Null()], {
        description: `why it has ended: ${endings.join(', ')}; null while it is open`,
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
      ...Hash('SHA-256 in hex of the `own` that is replaced'),
      examples: ['0'.repeat(64)],
    }),
  },
  { $id: 'OwnOfShare' },
);
export type OwnBody = Static<typeof OwnBody>;

/** A share as its recipient sees it. */
export const ReceivedShare = Type.Object(
  {
    id: ListedId,
    from: Type.String({ description: 'the owner' }),
    identity: Type.String({ description: 'the current identity of the owner' }),
    letter: Type.String({ description: 'as set by the owner' }),
    created_at: Type.String({ description: 'ISO 8601, UTC' }),
    expires_at: Expiry('ISO 8601, UTC; null: it does not expire'),
    downloads_left: Type.Union([Type.Integer(), Type.Null()], { description: 'null: no limit' }),
    files: Type.Integer({ description: 'number of shared files' }),
    missing: Type.Integer({ description: 'how many of them are deleted or in the trash' }),
  },
  { $id: 'ReceivedShare' },
);
export type ReceivedShare = Static<typeof ReceivedShare>;

export const OpenedShare = Type.Object(
  {
    header: Type.String({ description: 'as set by the owner' }),
    expires_at: Expiry('ISO 8601, UTC; null: it does not expire'),
    downloads_left: Type.Union([Type.Integer(), Type.Null()], { description: 'null: no limit' }),
    missing: Type.Array(Type.Integer(), { description: 'numbers of files that no longer exist' }),
  },
  { $id: 'OpenedShare' },
);
export type OpenedShare = Static<typeof OpenedShare>;

export const TicketBody = Type.Object(
  {
    ticket: Token('the ticket of one download'),
  },
  { $id: 'NewTicket' },
);
export type TicketBody = Static<typeof TicketBody>;

export const ShareEnded = Type.Object(
  { error: Type.String(), ended: Type.String({ description: endings.join(', ') }) },
  { $id: 'ShareEnded' },
);

/** Checks rules that the schema cannot express. */
export function checkShare({ files, access, to }: Pick<ShareBody, 'files' | 'access' | 'to'>): void {
  if ((access === undefined) === (to === undefined))
    throw new RuleError('a share needs either access, for a link, or to, for an account');
  if (new Set(files).size !== files.length) throw new RuleError('files: a file is listed twice');
}

const ok = Type.Literal(true);
const TicketTaken = Type.Object({ ok, expires_at: Type.String({ description: 'ISO 8601, UTC' }) });
const access = Type.Object({
  [headers.shareAccess]: Type.Optional(
    Type.String({ description: 'proves that the caller knows the link; without it the answer is 404' }),
  ),
  [headers.shareTicket]: Type.Optional(
    Type.String({ description: 'a ticket; with it, a used-up share still opens' }),
  ),
});
const ticket = Type.Object({
  [headers.shareTicket]: Type.Optional(Type.String({ description: 'a ticket of this share' })),
});

/** Shares: files for visitors who know a link, or for another account. */
export const shareRoutes = {
  createShare: {
    method: 'POST',
    path: '/api/shares',
    summary: 'Share files by a link or with an account; repeating the request creates nothing new',
    tag: 'Shares',
    access: 'full',
    changes: true,
    body: ShareBody,
    bodyBytes: limits.shareBodyBytes,
    responses: { 200: Type.Object({ ok }), 404: NotShared, ...errors(400, 403, 409, 429) },
  },
  listShares: {
    method: 'GET',
    path: '/api/shares',
    summary: "The caller's shares, newest first; ended ones are listed for a while",
    tag: 'Shares',
    access: 'full',
    responses: { 200: Type.Object({ shares: Type.Array(ListedShare) }) },
  },
  writeOwn: {
    method: 'PUT',
    path: '/api/shares/{share_id}/own',
    summary: 'Replace `own`, which only the owner sees',
    tag: 'Shares',
    access: 'full',
    changes: true,
    body: OwnBody,
    responses: { 200: Type.Object({ ok }), ...errors(400, 404, 412) },
  },
  endShare: {
    method: 'DELETE',
    path: '/api/shares/{share_id}',
    summary: 'End a share: it can no longer be opened',
    tag: 'Shares',
    access: 'full',
    changes: false,
    responses: { 200: Type.Object({ ok }), 404: ErrorBody },
  },
  openShare: {
    method: 'GET',
    path: '/api/shares/{share_id}',
    summary: 'Open a share with its link; 404 for callers who do not know the link',
    tag: 'Shares',
    access: 'open',
    headers: access,
    responses: { 200: OpenedShare, 410: ShareEnded, ...errors(404, 429) },
  },
  takeTicket: {
    method: 'POST',
    path: '/api/shares/{share_id}/downloads',
    summary:
      'Start a download: the ticket counts once and reads any part of the share for a day, as often as needed',
    tag: 'Shares',
    access: 'open',
    changes: false,
    headers: access,
    body: TicketBody,
    responses: { 200: TicketTaken, 410: ShareEnded, ...errors(400, 404, 429) },
  },
  readIdentity: {
    method: 'GET',
    path: '/api/accounts/{username}/identity',
    summary: 'The public keys of an account, to share with it',
    tag: 'Shares',
    access: 'full',
    responses: { 200: StoredIdentity, ...errors(403, 404, 429) },
  },
  listReceived: {
    method: 'GET',
    path: '/api/shared',
    summary: 'Open shares for the caller, newest first',
    tag: 'Shares',
    access: 'full',
    responses: { 200: Type.Object({ shares: Type.Array(ReceivedShare) }), 403: ErrorBody },
  },
  openReceived: {
    method: 'GET',
    path: '/api/shared/{share_id}',
    summary: 'Open a share as its recipient; 404 for other callers',
    tag: 'Shares',
    access: 'full',
    headers: ticket,
    responses: { 200: OpenedShare, 410: ShareEnded, ...errors(403, 404) },
  },
  takeReceived: {
    method: 'POST',
    path: '/api/shared/{share_id}/downloads',
    summary: 'Start a download of a share as its recipient, with a ticket like those of visitors',
    tag: 'Shares',
    access: 'full',
    changes: false,
    body: TicketBody,
    responses: { 200: TicketTaken, 410: ShareEnded, ...errors(400, 403, 404, 429) },
  },
  endReceived: {
    method: 'DELETE',
    path: '/api/shared/{share_id}',
    summary: 'Decline a share as its recipient: it ends',
    tag: 'Shares',
    access: 'full',
    changes: false,
    responses: { 200: Type.Object({ ok }), ...errors(403, 404) },
  },
  readSharedVolume: {
    method: 'GET',
    path: '/api/shares/{share_id}/files/{number}/chunk/{idx}',
    summary: 'One volume of a shared file, with a ticket; supports Range and If-None-Match',
    tag: 'Shares',
    access: 'open',
    headers: ticket,
    responses: {
      200: 'raw bytes of the volume, with X-Chunk-Count and an ETag made from its digest',
      206: 'the range asked for',
      304: 'the ETag still matches',
      ...errors(404, 416, 429),
    },
  },
  readSharedDigests: {
    method: 'GET',
    path: '/api/shares/{share_id}/files/{number}/digests',
    summary:
      'The SHA-256 of every volume of a shared file, 32 bytes each, in order, with a ticket; supports Range and If-None-Match',
    tag: 'Shares',
    access: 'open',
    headers: ticket,
    responses: { ...digestAnswers, 429: ErrorBody },
  },
} satisfies Record<string, Route>;
