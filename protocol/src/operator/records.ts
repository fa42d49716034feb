/** Bodies of the routes below /api/admin, which need the system token. */
import type { Static } from 'typebox';
import { limits } from '../basics/limits.ts';
import { Count, Named, Nullable, pageOf, Size, Text, Time, TimeOrNull } from '../basics/schemas.ts';
import { Type } from '../basics/type.ts';

const Own = (minimum: number, description: string) =>
  Nullable(Type.Integer({ minimum, maximum: Number.MAX_SAFE_INTEGER }), description);

const own = {
  quota_bytes: Own(0, 'space in bytes; null: SZ_QUOTA'),
  open_transfers: Own(1, 'unfinished uploads; null: SZ_OPEN_TRANSFERS'),
  open_volumes: Own(1, 'volumes of all unfinished uploads; null: SZ_OPEN_VOLUMES'),
  pulls: Own(1, 'pulls at once; null: SZ_PULLS_ACCOUNT'),
  login_attempts: Own(1, 'failed logins in a row from one address; null: SZ_LOGIN_ATTEMPTS'),
  upload_rate: Own(limits.leastRate, 'bytes per second that each node accepts; null: no limit'),
  download_rate: Own(limits.leastRate, 'bytes per second that each node sends; null: no limit'),
};

/** Limits of one account that override the server settings. */
export const AccountLimits = Named('AccountLimits', own);
export type AccountLimits = Static<typeof AccountLimits>;
export type LimitName = keyof AccountLimits;
export const limitNames = Object.keys(own) as LimitName[];
export const noLimits = Object.fromEntries(limitNames.map((name) => [name, null])) as AccountLimits;

export const LimitsChange = Type.Unsafe<Partial<AccountLimits>>(
  Named(
    'LimitsChange',
    Object.fromEntries(Object.entries(own).map(([name, limit]) => [name, Type.Optional(limit)])),
    { minProperties: 1, additionalProperties: false, description: 'limits that are not named do not change' },
  ),
);
export type LimitsChange = Static<typeof LimitsChange>;

const account = {
  username: Type.String(),
  account_id: Text('tells it from an earlier account of the same name'),
  created_at: Time('when it was registered'),
  disabled_at: TimeOrNull('since when it is disabled; null: it is enabled'),
  files: Type.Integer(),
  used_bytes: Count('sum of the sizes of its files'),
  extra_bytes: Count(
    'bytes of enc_params and thumbnails of its files; an enforced quota has an allowance for them',
  ),
  quota_bytes: Count('its own, or SZ_QUOTA'),
  limits: AccountLimits,
};
export const AccountRecord = Named('Account', account);
export type AccountRecord = Static<typeof AccountRecord>;

export const AccountDetails = Named('AccountDetails', {
  ...account,
  totp: Type.Boolean({ description: 'whether a login needs a code as second factor' }),
  passkeys: Count('number of passkeys that are second factors'),
  sessions: Count('sessions and tokens'),
  used_at: TimeOrNull('last use of one of them, exact to an hour; null: there are none'),
  open_transfers: Count('unfinished uploads'),
  open_volumes: Count('volumes of these uploads'),
});
export type AccountDetails = Static<typeof AccountDetails>;

export const InvitationBody = Named(
  'InvitationRequest',
  {
    note: Type.Optional(
      Type.String({
        maxLength: limits.noteChars,
        description: 'for the operator, such as the name of the person',
      }),
    ),
    expires_in: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limits.inviteSeconds.max,
        description: `seconds until it expires; default ${limits.inviteSeconds.usual}`,
      }),
    ),
    quota_bytes: Type.Optional(Size('quota of the new account, instead of SZ_QUOTA')),
  },
  { additionalProperties: false },
);
export type InvitationBody = Static<typeof InvitationBody>;

const invitation = {
  id: Type.String(),
  note: Type.String(),
  quota_bytes: Nullable(Type.Integer()),
  created_at: Time('when it was created'),
  expires_at: Time('when it expires'),
};
export const Invitation = Named('Invitation', invitation);
export type Invitation = Static<typeof Invitation>;
export const NewInvitation = Named('NewInvitation', {
  ...invitation,
  invite: Text('the invitation itself; it is not shown again'),
});
export type NewInvitation = Static<typeof NewInvitation>;

export const TransferRecord = Named('Transfer', {
  file_id: Text('the id of the file it becomes; the transfer id itself is secret'),
  creator: Type.String(),
  status: Text('uploading, or failed: complete failed and can be repeated'),
  stored_size: Count('bytes of its volumes that are known so far'),
  chunk_count: Count('volumes that are known so far'),
  created_at: Time('when it began'),
  touched_at: Time('last use, exact to an hour'),
});
export type TransferRecord = Static<typeof TransferRecord>;

export const ShareRecord = Named('ShareRecord', {
  id: Type.String(),
  owner: Type.String(),
  to: Nullable(Type.String(), 'the recipient account; null: a link'),
  files: Type.Integer(),
  created_at: Time('when it was created'),
  expires_at: TimeOrNull('null: it does not expire'),
  downloads: Nullable(Type.Integer(), 'maximum number; null: no limit'),
  downloaded: Count('number so far'),
});
export type ShareRecord = Static<typeof ShareRecord>;

export const RequestRecord = Named('RequestRecord', {
  id: Type.String(),
  owner: Type.String(),
  created_at: Time('when it was created'),
  expires_at: TimeOrNull('null: it does not expire'),
  max_files: Count('maximum number of files'),
  max_bytes: Count('maximum number of bytes'),
  delivered: Count('files that have arrived'),
  delivered_bytes: Type.Integer(),
  uploading: Count('uploads that are not finished'),
});
export type RequestRecord = Static<typeof RequestRecord>;

export const ServerStatus = Named('ServerStatus', {
  version: Type.String(),
  service_id: Type.String(),
  store_id: Type.String(),
  database: Text('sqlite or postgres'),
  volumes: Text('folder or s3'),
  registration: Text('open, closed or invite'),
  quota_enforced: Type.Boolean(),
  read_only_since: TimeOrNull('since when writes are refused; null: they are not'),
  contested_since: TimeOrNull('since when another database uses the store; null: none does'),
  transfers: Type.Object({
    uploading: Type.Integer(),
    storing: Type.Integer(),
    failed: Type.Integer(),
  }),
  pulls: Count('pulls that run'),
  garbage: Count('volume groups waiting to be removed'),
  orphans: Count('volume groups without a record'),
  invitations: Count('that can still be used'),
  sharing: Type.Boolean({ description: 'whether files may be shared (SZ_SHARES)' }),
  shares: Count('that have not ended'),
  requests: Count('that have not ended'),
  accounts: Count('this and the next two are from the last count, seconds to minutes ago'),
  files: Type.Integer(),
  stored_bytes: Type.Integer(),
  scrub: Type.Object({
    running: Type.Boolean(),
    began_at: TimeOrNull('start of the latest scrub; null: none yet'),
    ended_at: TimeOrNull('end of the latest complete scrub; null: none yet'),
    progress: Type.Number({ description: '0 to 1' }),
    faults: Count('volumes of files that are missing or damaged'),
  }),
});
export type ServerStatus = Static<typeof ServerStatus>;

export const AuditRecord = Named('AuditRecord', {
  seq: Type.Integer(),
  at: Time('when it was done'),
  actor: Text('account, operator (a command on the server), system token, or service'),
  account: Text('the account concerned; empty if it is about the whole server'),
  action: Type.String(),
  detail: Type.String(),
});
export type AuditRecord = Static<typeof AuditRecord>;

const page = pageOf(`how many; default ${limits.adminPage}`, '^[\\w-]{1,80}$');
const ofAccount = Type.Optional(Type.String({ maxLength: 64, description: 'only entries of this account' }));
export const Page = Type.Object(page);
export const PageOfAccount = Type.Object({ ...page, account: ofAccount });
export interface PageQuery {
  limit?: string;
  cursor?: string;
  account?: string;
}
