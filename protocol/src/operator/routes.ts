import { routeTable } from '../basics/route.ts';
import { errors, Ok, ok, Text } from '../basics/schemas.ts';
import { Type } from '../basics/type.ts';
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
} from './records.ts';

const next_cursor = Type.Optional(Text('when there are more'));

export const adminRoutes = routeTable('Operator', 'system', {
  listAccounts: {
    at: 'GET /api/admin/accounts',
    summary: 'The accounts, by name, in pages',
    query: Page,
    responses: {
      200: Type.Object({ accounts: Type.Array(AccountRecord), next_cursor }),
      ...errors(400),
    },
  },
  showAccount: {
    at: 'GET /api/admin/accounts/{username}',
    summary: 'One account, with its sessions and unfinished uploads',
    responses: { 200: AccountDetails, ...errors(404) },
  },
  limitAccount: {
    at: 'PUT /api/admin/accounts/{username}/limits',
    summary: 'Set the quota and other limits of one account; null returns to the settings',
    changes: false,
    body: LimitsChange,
    responses: { 200: AccountDetails, ...errors(400, 404) },
  },
  disableAccount: {
    at: 'POST /api/admin/accounts/{username}/disable',
    summary: 'Refuse every request and login of an account; nothing is deleted',
    changes: false,
    responses: { 200: Ok, ...errors(404) },
  },
  enableAccount: {
    at: 'POST /api/admin/accounts/{username}/enable',
    summary: 'Enable a disabled account; its tokens are still valid',
    changes: false,
    responses: { 200: Ok, ...errors(404) },
  },
  logoutAccount: {
    at: 'POST /api/admin/accounts/{username}/logout',
    summary: 'End all sessions and tokens of an account',
    changes: false,
    responses: { 200: Type.Object({ ok, ended: Type.Integer() }), ...errors(404) },
  },
  endAccountFactor: {
    at: 'POST /api/admin/accounts/{username}/factor-off',
    summary:
      'Turn off the second factor of an account, passkeys included, for a user who has lost the device',
    changes: false,
    responses: { 200: Type.Object({ ok, was_on: Type.Boolean() }), ...errors(404) },
  },
  deleteAccount: {
    at: 'DELETE /api/admin/accounts/{username}',
    summary: 'Delete an account with all its files',
    changes: true,
    responses: { 200: Ok, ...errors(404) },
  },
  invite: {
    at: 'POST /api/admin/invitations',
    summary: 'Create an invitation for one new account',
    changes: false,
    body: InvitationBody,
    optionalBody: true,
    responses: { 200: NewInvitation, ...errors(400) },
  },
  listInvitations: {
    at: 'GET /api/admin/invitations',
    summary: 'Invitations that can still be used, in pages',
    query: Page,
    responses: {
      200: Type.Object({ invitations: Type.Array(Invitation), next_cursor }),
      ...errors(400),
    },
  },
  endInvitation: {
    at: 'DELETE /api/admin/invitations/{id}',
    summary: 'Withdraw an invitation',
    changes: false,
    responses: { 200: Ok, ...errors(404) },
  },
  listTransfers: {
    at: 'GET /api/admin/transfers',
    summary: 'Unfinished uploads, the longest unused first, in pages',
    query: PageOfAccount,
    responses: {
      200: Type.Object({ transfers: Type.Array(TransferRecord), next_cursor }),
      ...errors(400),
    },
  },
  cancelTransfer: {
    at: 'DELETE /api/admin/transfers/{file_id}',
    summary: 'Cancel an unfinished upload of any account',
    changes: true,
    responses: { 200: Ok, ...errors(404, 409) },
  },
  listAllShares: {
    at: 'GET /api/admin/shares',
    summary: 'Links and shares that have not ended, in pages',
    query: PageOfAccount,
    responses: { 200: Type.Object({ shares: Type.Array(ShareRecord), next_cursor }), ...errors(400) },
  },
  endAnyShare: {
    at: 'DELETE /api/admin/shares/{id}',
    summary: 'End a share of any account: nobody can download from it any more',
    changes: false,
    responses: { 200: Ok, ...errors(404) },
  },
  listAllRequests: {
    at: 'GET /api/admin/requests',
    summary: 'File requests that have not ended, in pages',
    query: PageOfAccount,
    responses: {
      200: Type.Object({ requests: Type.Array(RequestRecord), next_cursor }),
      ...errors(400),
    },
  },
  endAnyRequest: {
    at: 'DELETE /api/admin/requests/{id}',
    summary: 'End a file request of any account: nobody can upload to it any more',
    changes: false,
    responses: { 200: Ok, ...errors(404) },
  },
  status: {
    at: 'GET /api/admin/status',
    summary: 'The state of the server',
    responses: { 200: ServerStatus },
  },
  setReadOnly: {
    at: 'PUT /api/admin/read-only',
    summary: 'Refuse all writes on all nodes (503), or allow them again; reads continue',
    changes: false,
    body: Type.Object({ read_only: Type.Boolean() }),
    responses: { 200: Type.Object({ ok, read_only: Type.Boolean() }), ...errors(400) },
  },
  audit: {
    at: 'GET /api/admin/audit',
    summary: 'The audit log, newest first, in pages',
    query: PageOfAccount,
    responses: { 200: Type.Object({ entries: Type.Array(AuditRecord), next_cursor }), ...errors(400) },
  },
});
