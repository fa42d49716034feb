import {
  AccountDetails,
  AccountRecord,
  AuditRecord,
  Invitation,
  InvitationBody,
  LimitsChange,
  NewInvitation,
  Page,
  PageOfAccount,
  RequestRecord,
  ServerStatus,
  ShareRecord,
  TransferRecord,
} from './admin.ts';
import { ErrorBody, errors } from './resources.ts';
import { Type } from './type.ts';

const ok = Type.Literal(true);
const next_cursor = Type.Optional(Type.String({ description: 'when there are more' }));

/** What every route here has: it is the operator's. */
const common = { tag: 'Operator', access: 'system' } as const;
const ofAccount = { 403: ErrorBody, 404: ErrorBody };

/** Part of the table in routes.ts. */
export const adminRoutes = {
  listAccounts: {
    ...common,
    method: 'GET',
    path: '/api/admin/accounts',
    summary: 'The accounts, by name, in pages',
    query: Page,
    responses: {
      200: Type.Object({ accounts: Type.Array(AccountRecord), next_cursor }),
      ...errors(400, 403),
    },
  },
  showAccount: {
    ...common,
    method: 'GET',
    path: '/api/admin/accounts/{username}',
    summary: 'One account, with what it has open',
    responses: { 200: AccountDetails, ...ofAccount },
  },
  limitAccount: {
    ...common,
    method: 'PUT',
    path: '/api/admin/accounts/{username}/limits',
    summary: 'Set the quota and other limits of one account; null returns to the settings',
    changes: false,
    body: LimitsChange,
    responses: { 200: AccountDetails, 400: ErrorBody, ...ofAccount },
  },
  disableAccount: {
    ...common,
    method: 'POST',
    path: '/api/admin/accounts/{username}/disable',
    summary: 'Refuse every request and login of an account; nothing of it is deleted',
    changes: false,
    responses: { 200: Type.Object({ ok }), ...ofAccount },
  },
  enableAccount: {
    ...common,
    method: 'POST',
    path: '/api/admin/accounts/{username}/enable',
    summary: 'Let a disabled account work again; its tokens are valid as before',
    changes: false,
    responses: { 200: Type.Object({ ok }), ...ofAccount },
  },
  logoutAccount: {
    ...common,
    method: 'POST',
    path: '/api/admin/accounts/{username}/logout',
    summary: 'End all sessions and tokens of an account',
    changes: false,
    responses: { 200: Type.Object({ ok, ended: Type.Integer() }), ...ofAccount },
  },
  endAccountFactor: {
    ...common,
    method: 'POST',
    path: '/api/admin/accounts/{username}/factor-off',
    summary:
      'Turn off the second factor of an account, passkeys included, for a user who has lost the device',
    changes: false,
    responses: { 200: Type.Object({ ok, was_on: Type.Boolean() }), ...ofAccount },
  },
  deleteAccount: {
    ...common,
    method: 'DELETE',
    path: '/api/admin/accounts/{username}',
    summary: 'Delete an account with all its files',
    changes: true,
    responses: { 200: Type.Object({ ok }), ...ofAccount },
  },
  invite: {
    ...common,
    method: 'POST',
    path: '/api/admin/invitations',
    summary: 'Make an invitation, by which one account can be registered',
    changes: false,
    body: InvitationBody,
    optionalBody: true,
    responses: { 200: NewInvitation, ...errors(400, 403) },
  },
  listInvitations: {
    ...common,
    method: 'GET',
    path: '/api/admin/invitations',
    summary: 'Invitations that can be used, in pages',
    query: Page,
    responses: {
      200: Type.Object({ invitations: Type.Array(Invitation), next_cursor }),
      ...errors(400, 403),
    },
  },
  endInvitation: {
    ...common,
    method: 'DELETE',
    path: '/api/admin/invitations/{id}',
    summary: 'Withdraw an invitation',
    changes: false,
    responses: { 200: Type.Object({ ok }), ...ofAccount },
  },
  listTransfers: {
    ...common,
    method: 'GET',
    path: '/api/admin/transfers',
    summary: 'Unfinished uploads, the longest unused first, in pages',
    query: PageOfAccount,
    responses: {
      200: Type.Object({ transfers: Type.Array(TransferRecord), next_cursor }),
      ...errors(400, 403),
    },
  },
  cancelTransfer: {
    ...common,
    method: 'DELETE',
    path: '/api/admin/transfers/{file_id}',
    summary: 'Cancel an unfinished upload of any account',
    changes: true,
    responses: { 200: Type.Object({ ok }), ...errors(403, 404, 409) },
  },
  listAllShares: {
    ...common,
    method: 'GET',
    path: '/api/admin/shares',
    summary: 'What accounts share, as far as it is not over, in pages',
    query: PageOfAccount,
    responses: { 200: Type.Object({ shares: Type.Array(ShareRecord), next_cursor }), ...errors(400, 403) },
  },
  endAnyShare: {
    ...common,
    method: 'DELETE',
    path: '/api/admin/shares/{id}',
    summary: 'End a share of any account: from now on nobody gets anything by it',
    changes: false,
    responses: { 200: Type.Object({ ok }), ...errors(403, 404) },
  },
  listAllRequests: {
    ...common,
    method: 'GET',
    path: '/api/admin/requests',
    summary: 'What accounts ask visitors for, as far as it is not over, in pages',
    query: PageOfAccount,
    responses: {
      200: Type.Object({ requests: Type.Array(RequestRecord), next_cursor }),
      ...errors(400, 403),
    },
  },
  endAnyRequest: {
    ...common,
    method: 'DELETE',
    path: '/api/admin/requests/{id}',
    summary: 'End a request of any account: from now on nobody uploads by it',
    changes: false,
    responses: { 200: Type.Object({ ok }), ...errors(403, 404) },
  },
  status: {
    ...common,
    method: 'GET',
    path: '/api/admin/status',
    summary: 'The state of the server',
    responses: { 200: ServerStatus, 403: ErrorBody },
  },
  setReadOnly: {
    ...common,
    method: 'PUT',
    path: '/api/admin/read-only',
    summary: 'Stop all writes on all nodes (503), or let them go on; reads are answered as ever',
    changes: false,
    body: Type.Object({ read_only: Type.Boolean() }),
    responses: { 200: Type.Object({ ok, read_only: Type.Boolean() }), ...errors(400, 403) },
  },
  audit: {
    ...common,
    method: 'GET',
    path: '/api/admin/audit',
    summary: 'What was done to accounts and to the server, newest first, in pages',
    query: PageOfAccount,
    responses: { 200: Type.Object({ entries: Type.Array(AuditRecord), next_cursor }), ...errors(400, 403) },
  },
} as const;
