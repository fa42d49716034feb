import { headers, limits } from './limits.ts';
import { ListedRequest, OpenedRequest, RequestBody, RequestFull, UploadBody } from './requests.ts';
import { ErrorBody } from './resources.ts';
import type { Route } from './route.ts';
import { ShareEnded } from './shares.ts';
import { Type } from './type.ts';

const ok = Type.Literal(true);
const access = Type.Object({
  [headers.shareAccess]: Type.Optional(
    Type.String({ description: 'shows that the caller knows the link; without it there is no such request' }),
  ),
});

/** Requests: links by which visitors, who have no account, upload for whoever made them. */
export const requestRoutes = {
  createRequest: {
    method: 'POST',
    path: '/api/requests',
    summary: 'Ask for files by a link; the same request again is no other one',
    tag: 'Requests',
    access: 'full',
    changes: true,
    body: RequestBody,
    responses: { 200: Type.Object({ ok }), 400: ErrorBody, 403: ErrorBody, 409: ErrorBody, 429: ErrorBody },
  },
  listRequests: {
    method: 'GET',
    path: '/api/requests',
    summary: "The caller's requests, the latest first; those that ended for a while longer",
    tag: 'Requests',
    access: 'full',
    responses: { 200: Type.Object({ requests: Type.Array(ListedRequest) }) },
  },
  endRequest: {
    method: 'DELETE',
    path: '/api/requests/{request_id}',
    summary: 'End a request: from now on nobody uploads by it, and what is on its way is soon removed',
    tag: 'Requests',
    access: 'full',
    changes: false,
    responses: { 200: Type.Object({ ok }), 404: ErrorBody },
  },
  openRequest: {
    method: 'GET',
    path: '/api/requests/{request_id}',
    summary:
      'What a request still takes, for whoever knows its link; any other caller is told that there is none',
    tag: 'Requests',
    access: 'open',
    headers: access,
    responses: { 200: OpenedRequest, 404: ErrorBody, 410: ShareEnded, 429: ErrorBody },
  },
  beginUpload: {
    method: 'POST',
    path: '/api/requests/{request_id}/uploads',
    summary:
      'Begin an upload, which counts: a streamed transfer whose volumes have these sizes, for the token alone. The same token again is the same transfer',
    tag: 'Requests',
    access: 'open',
    changes: true,
    headers: access,
    body: UploadBody,
    bodyBytes: limits.jsonBodyBytes,
    responses: {
      200: Type.Object({ transfer_id: Type.String() }),
      400: ErrorBody,
      404: ErrorBody,
      409: RequestFull,
      410: ShareEnded,
      429: ErrorBody,
      507: ErrorBody,
    },
  },
} satisfies Record<string, Route>;
