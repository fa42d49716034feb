import { StoredIdentity } from './accounts.ts';
import { digestAnswers } from './digests.ts';
import { headers, limits } from './limits.ts';
import { ErrorBody } from './resources.ts';
import type { Route } from './route.ts';
import {
  ListedShare,
  NotShared,
  OpenedShare,
  OwnBody,
  ReceivedShare,
  ShareBody,
  ShareEnded,
  TicketBody,
} from './shares.ts';
import { Type } from './type.ts';

const ok = Type.Literal(true);
const access = Type.Object({
  [headers.shareAccess]: Type.Optional(
    Type.String({ description: 'shows that the caller knows the link; without it there is no such share' }),
  ),
  [headers.shareTicket]: Type.Optional(
    Type.String({ description: 'a ticket, by which a share that is used up still opens' }),
  ),
});
const ticket = Type.Object({
  [headers.shareTicket]: Type.Optional(Type.String({ description: 'a ticket that was taken before' })),
});

/** Shares: what an owner gives to others, and what they get of it: visitors, who have no account, or another account. */
export const shareRoutes = {
  createShare: {
    method: 'POST',
    path: '/api/shares',
    summary: 'Share files by a link, or with an account; the same share again is no other one',
    tag: 'Shares',
    access: 'full',
    changes: true,
    body: ShareBody,
    bodyBytes: limits.shareBodyBytes,
    responses: {
      200: Type.Object({ ok }),
      400: ErrorBody,
      403: ErrorBody,
      404: NotShared,
      409: ErrorBody,
      429: ErrorBody,
    },
  },
  listShares: {
    method: 'GET',
    path: '/api/shares',
    summary: "The caller's shares, the latest first; those that ended for a while longer",
    tag: 'Shares',
    access: 'full',
    responses: { 200: Type.Object({ shares: Type.Array(ListedShare) }) },
  },
  writeOwn: {
    method: 'PUT',
    path: '/api/shares/{share_id}/own',
    summary: 'Take other text for `own` in the list: visitors see nothing of it',
    tag: 'Shares',
    access: 'full',
    changes: true,
    body: OwnBody,
    responses: { 200: Type.Object({ ok }), 400: ErrorBody, 404: ErrorBody, 412: ErrorBody },
  },
  endShare: {
    method: 'DELETE',
    path: '/api/shares/{share_id}',
    summary: 'End a share: from now on nobody gets anything by it',
    tag: 'Shares',
    access: 'full',
    changes: false,
    responses: { 200: Type.Object({ ok }), 404: ErrorBody },
  },
  openShare: {
    method: 'GET',
    path: '/api/shares/{share_id}',
    summary: 'What a link opens, for whoever knows it; any other caller is told that there is none',
    tag: 'Shares',
    access: 'open',
    headers: access,
    responses: { 200: OpenedShare, 404: ErrorBody, 410: ShareEnded, 429: ErrorBody },
  },
  takeTicket: {
    method: 'POST',
    path: '/api/shares/{share_id}/downloads',
    summary:
      'Begin a download: a ticket, which counts once, reads any part of the share, again and again, for a day',
    tag: 'Shares',
    access: 'open',
    changes: false,
    headers: access,
    body: TicketBody,
    responses: {
      200: Type.Object({ ok, expires_at: Type.String({ description: 'ISO 8601, UTC' }) }),
      400: ErrorBody,
      404: ErrorBody,
      410: ShareEnded,
      429: ErrorBody,
    },
  },
  readIdentity: {
    method: 'GET',
    path: '/api/accounts/{username}/identity',
    summary: 'The public keys of an account, for whoever wants to share something with it',
    tag: 'Shares',
    access: 'full',
    responses: { 200: StoredIdentity, 403: ErrorBody, 404: ErrorBody, 429: ErrorBody },
  },
  listReceived: {
    method: 'GET',
    path: '/api/shared',
    summary: 'What other accounts share with the caller and is not over, the latest first',
    tag: 'Shares',
    access: 'full',
    responses: { 200: Type.Object({ shares: Type.Array(ReceivedShare) }), 403: ErrorBody },
  },
  openReceived: {
    method: 'GET',
    path: '/api/shared/{share_id}',
    summary:
      'What a share opens, for the account that it is for; any other caller is told that there is none',
    tag: 'Shares',
    access: 'full',
    headers: ticket,
    responses: { 200: OpenedShare, 403: ErrorBody, 404: ErrorBody, 410: ShareEnded },
  },
  takeReceived: {
    method: 'POST',
    path: '/api/shared/{share_id}/downloads',
    summary: 'Begin a download of what is shared with the caller: a ticket, as visitors take one',
    tag: 'Shares',
    access: 'full',
    changes: false,
    body: TicketBody,
    responses: {
      200: Type.Object({ ok, expires_at: Type.String({ description: 'ISO 8601, UTC' }) }),
      400: ErrorBody,
      403: ErrorBody,
      404: ErrorBody,
      410: ShareEnded,
      429: ErrorBody,
    },
  },
  endReceived: {
    method: 'DELETE',
    path: '/api/shared/{share_id}',
    summary: 'Put away what another account shares with the caller: it ends',
    tag: 'Shares',
    access: 'full',
    changes: false,
    responses: { 200: Type.Object({ ok }), 403: ErrorBody, 404: ErrorBody },
  },
  readSharedVolume: {
    method: 'GET',
    path: '/api/shares/{share_id}/files/{number}/chunk/{idx}',
    summary: 'One volume of a shared file, for a ticket; Range and If-None-Match work too',
    tag: 'Shares',
    access: 'open',
    headers: ticket,
    responses: {
      200: 'raw bytes of the volume, with X-Chunk-Count and an ETag made from its digest',
      206: 'the range asked for',
      304: 'the ETag still matches',
      404: ErrorBody,
      416: ErrorBody,
      429: ErrorBody,
    },
  },
  readSharedDigests: {
    method: 'GET',
    path: '/api/shares/{share_id}/files/{number}/digests',
    summary:
      'The SHA-256 of every volume of a shared file, 32 bytes each, in order, for a ticket; Range and If-None-Match work too',
    tag: 'Shares',
    access: 'open',
    headers: ticket,
    responses: { ...digestAnswers, 429: ErrorBody },
  },
} satisfies Record<string, Route>;
