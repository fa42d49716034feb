/** Shares: schemas, rules and routes. */
import type { Static } from 'typebox';
import { StoredIdentity } from '../accounts/accounts.ts';
import { headers, limits } from '../basics/limits.ts';
import { RuleError } from '../basics/names.ts';
import { routeTable } from '../basics/route.ts';
import { bytesOf, Count, errors, FileIds, Named, Nullable, Ok, ok, Text, Time } from '../basics/schemas.ts';
import { Type } from '../basics/type.ts';
import { digestAnswers } from '../files/records.ts';
import {
  Ended,
  Expires,
  endings,
  Hash,
  Id,
  ListedId,
  linkAccess,
  NewExpiry,
  Own,
  Sealed,
  Token,
} from './share-fields.ts';

const Letter = Sealed(
  limits.shareLetterChars,
  'base64url: the key of the share, sealed for that account and signed by the owner',
);

export const ShareBody = Named('NewShare', {
  id: Id,
  files: FileIds(
    limits.shareFiles,
    "the file_id of each of the caller's files; visitors name them by their position in this list, from 1",
  ),
  header: Sealed(limits.shareHeaderChars, 'base64url of the data for visitors, sealed by the client'),
  access: Type.Optional(
    Hash(
      'for a link: SHA-256 in hex of the value that visitors send in X-Share-Access; a share has this or `to`',
    ),
  ),
  to: Type.Optional(
    Type.Object(
      {
        username: Text('the only account that can open it'),
        letter: Letter,
        identity: Type.Optional(
          Hash(
            'SHA-256 in hex of the identity of that account; a caller who knows it is not limited in looking up names',
          ),
        ),
      },
      { description: 'for a share with an account' },
    ),
  ),
  own: Own,
  expires_at: NewExpiry,
  downloads: Type.Optional(
    Nullable(
      Type.Integer({ minimum: 1, maximum: limits.shareDownloads }),
      'maximum number of downloads; null or absent: no limit',
    ),
  ),
});
export type ShareBody = Static<typeof ShareBody>;

export const NotShared = Named('NotShared', {
  error: Type.String(),
  files: Type.Array(Type.String(), { description: 'those that are not files of the caller' }),
});

export const ListedShare = Named('Share', {
  id: ListedId,
  own: Type.String(),
  to: Nullable(Type.String(), 'the recipient; null: a link'),
  created_at: Time(),
  expires_at: Expires,
  downloads: Nullable(Type.Integer(), 'maximum number of downloads; null: no limit'),
  downloaded: Count('downloads so far'),
  files: Count('number of shared files'),
  missing: Count('how many of them are deleted or in the trash, and cannot be read'),
  ended: Ended,
});
export type ListedShare = Static<typeof ListedShare>;

export const OwnBody = Named('OwnOfShare', {
  own: Own,
  match: Hash('SHA-256 in hex of the `own` that is replaced'),
});
export type OwnBody = Static<typeof OwnBody>;

/** A share as its recipient sees it. */
export const ReceivedShare = Named('ReceivedShare', {
  id: ListedId,
  from: Text('the owner'),
  identity: Text('the current identity of the owner'),
  letter: Text('as set by the owner'),
  created_at: Time(),
  expires_at: Expires,
  downloads_left: Nullable(Type.Integer(), 'null: no limit'),
  files: Count('number of shared files'),
  missing: Count('how many of them are deleted or in the trash'),
});
export type ReceivedShare = Static<typeof ReceivedShare>;

export const OpenedShare = Named('OpenedShare', {
  header: Text('as set by the owner'),
  expires_at: Expires,
  downloads_left: Nullable(Type.Integer(), 'null: no limit'),
  missing: Type.Array(Type.Integer(), { description: 'numbers of files that no longer exist' }),
});
export type OpenedShare = Static<typeof OpenedShare>;

export const TicketBody = Named('NewTicket', {
  ticket: Token('the ticket of one download'),
});
export type TicketBody = Static<typeof TicketBody>;

export const ShareEnded = Named('ShareEnded', { error: Type.String(), ended: Text(endings.join(', ')) });

/** Checks rules that a schema cannot express. */
export function checkShare({ files, access, to }: Pick<ShareBody, 'files' | 'access' | 'to'>): void {
  if ((access === undefined) === (to === undefined))
    throw new RuleError('a share needs either access, for a link, or to, for an account');
  if (new Set(files).size !== files.length) throw new RuleError('files: a file is listed twice');
}

const TicketTaken = Type.Object({ ok, expires_at: Time() });
const access = Type.Object({
  ...linkAccess,
  [headers.shareTicket]: Type.Optional(Text('a ticket; with it, a used-up share still opens')),
});
const ticket = Type.Object({
  [headers.shareTicket]: Type.Optional(Text('a ticket of this share')),
});

/** Shares: files for anyone who knows a link, or for another account. */
export const shareRoutes = routeTable('Shares', 'full', {
  createShare: {
    at: 'POST /api/shares',
    summary: 'Share files by a link or with an account; repeating the request creates nothing new',
    changes: true,
    body: ShareBody,
    bodyBytes: limits.shareBodyBytes,
    responses: { 200: Ok, 404: NotShared, ...errors(400, 409, 429) },
  },
  listShares: {
    at: 'GET /api/shares',
    summary: "The caller's shares, newest first; ended ones are listed for a while",
    responses: { 200: Type.Object({ shares: Type.Array(ListedShare) }) },
  },
  writeOwn: {
    at: 'PUT /api/shares/{share_id}/own',
    summary: 'Replace `own`, which only the owner sees',
    changes: true,
    body: OwnBody,
    responses: { 200: Ok, ...errors(400, 404, 412) },
  },
  endShare: {
    at: 'DELETE /api/shares/{share_id}',
    summary: 'End a share: it can no longer be opened',
    changes: false,
    responses: { 200: Ok, ...errors(404) },
  },
  openShare: {
    at: 'GET /api/shares/{share_id}',
    summary: 'Open a share with its link; 404 for callers who do not know the link',
    access: 'open',
    headers: access,
    responses: { 200: OpenedShare, 410: ShareEnded, ...errors(404, 429) },
  },
  takeTicket: {
    at: 'POST /api/shares/{share_id}/downloads',
    summary:
      'Start a download: the ticket counts once and reads any part of the share for a day, as often as needed',
    access: 'open',
    changes: false,
    headers: access,
    body: TicketBody,
    responses: { 200: TicketTaken, 410: ShareEnded, ...errors(400, 404, 429) },
  },
  readIdentity: {
    at: 'GET /api/accounts/{username}/identity',
    summary: 'The public keys of an account, to share with it',
    responses: { 200: StoredIdentity, ...errors(404, 429) },
  },
  listReceived: {
    at: 'GET /api/shared',
    summary: 'Open shares for the caller, newest first',
    responses: { 200: Type.Object({ shares: Type.Array(ReceivedShare) }) },
  },
  openReceived: {
    at: 'GET /api/shared/{share_id}',
    summary: 'Open a share as its recipient; 404 for other callers',
    headers: ticket,
    responses: { 200: OpenedShare, 410: ShareEnded, ...errors(404) },
  },
  takeReceived: {
    at: 'POST /api/shared/{share_id}/downloads',
    summary: 'Start a download of a share as its recipient, with a ticket like those of visitors',
    changes: false,
    body: TicketBody,
    responses: { 200: TicketTaken, 410: ShareEnded, ...errors(400, 404, 429) },
  },
  endReceived: {
    at: 'DELETE /api/shared/{share_id}',
    summary: 'Decline a share as its recipient: it ends',
    changes: false,
    responses: { 200: Ok, ...errors(404) },
  },
  readSharedVolume: {
    at: 'GET /api/shares/{share_id}/files/{number}/chunk/{idx}',
    summary: 'One volume of a shared file, with a ticket; supports Range and If-None-Match',
    access: 'open',
    headers: ticket,
    responses: {
      ...bytesOf('raw bytes of the volume, with X-Chunk-Count and an ETag made from its digest'),
      ...errors(429),
    },
  },
  readSharedDigests: {
    at: 'GET /api/shares/{share_id}/files/{number}/digests',
    summary:
      'The SHA-256 of every volume of a shared file, 32 bytes each, in order, with a ticket; supports Range and If-None-Match',
    access: 'open',
    headers: ticket,
    responses: { ...digestAnswers, ...errors(429) },
  },
});
