/** Bodies of the routes below /api/admin, which need the system token. */
import type { Static } from 'typebox';
import { limits } from '../basics/limits.ts';
import { pageOf } from '../basics/pages.ts';
import { Type } from '../basics/type.ts';

const Time = (description: string) => Type.String({ description: `${description}; ISO 8601, UTC` });
const TimeOrNever = (description: string) =>
  Type.Union([Type.String(), Type.Null()], { description: `${description}; ISO 8601, UTC` });
const Own = (minimum: number, description: string) =>
  Type.Union([Type.Integer({ minimum, maximum: Number.MAX_SAFE_INTEGER }), Type.Null()], { description });

const own = {
  quota_bytes: Own(0, 'space in bytes; null: SZ_QUOTA'),
  open_transfers: Own(1, 'unfinished uploads; null: SZ_OPEN_TRANSFERS'),
  open_volumes: Own(1, 'volumes of all unfinished uploads; null: SZ_OPEN_VOLUMES'),
  pulls: Own(1, 'pulls at once; null: SZ_PULLS_ACCOUNT'),
  login_attempts: Own(1, 'failed logins in a row from one address; null: SZ_LOGIN_ATTEMPTS'),
  upload_rate: Own(limits.leastRate, 'bytes per second that each node accepts; null: no limit'),
  download_rate: Own(limits.leastRate, 'bytes per second that each node sends; null: no limit'),
};

/** Limits of one account that differ from the settings. */
export const AccountLimits = Type.Object(own, { $id: 'AccountLimits' });
export type AccountLimits = Static<typeof AccountLimits>;
export type LimitName = keyof AccountLimits;
export const limitNames = Object.keys(own) as LimitName[];
export const noLimits = Object.fromEntries(limitNames.map((name) => [name, null])) as AccountLimits;

export const LimitsChange = Type.Object(
  {
    quota_bytes: Type.Optional(own.quota_bytes),
    open_transfers: Type.Optional(own.open_transfers),
    open_volumes: Type.Optional(own.open_volumes),
    pulls: Type.Optional(own.pulls),
    login_attempts: Type.Optional(own.login_attempts),
    upload_rate: Type.Optional(own.upload_rate),
    download_rate: Type.Optional(own.download_rate),
  },
  {
    $id: 'LimitsChange',
    minProperties: 1,
    additionalProperties: false,
    description: 'limits that are not named do not change',
  },
);
export type LimitsChange = Static<typeof LimitsChange>;

const account = {
  username: Type.String(),
  account_id: Type.String({ description: 'tells it from an earlier account of the same name' }),
  created_at: Time('when it was registered'),
  disabled_at: TimeOrNever('since when it is disabled; null: it is enabled'),
  files: Type.Integer(),
  used_bytes: Type.Integer({ description: 'sum of the sizes of its files' }),
  extra_bytes: Type.Integer({
    description:
      'bytes of enc_params and thumbnails of its files; an enforced quota has an allowance for them',
  }),
  quota_bytes: Type.Integer({ description: 'its own, or SZ_QUOTA' }),
  limits: AccountLimits,
};
export const AccountRecord = Type.Object(account, { $id: 'Account' });
export type AccountRecord = Static<typeof AccountRecord>;

export const AccountDetails = Type.Object(
  {
    ...account,
    totp: Type.Boolean({ description: 'whether a login needs a code as second factor' }),
    passkeys: Type.Integer({ description: 'number of passkeys that are second factors' }),
    sessions: Type.Integer({ description: 'sessions and tokens' }),
    used_at: TimeOrNever('last use of one of them, exact to an hour; null: there are none'),
    open_transfers: Type.Integer({ description: 'unfinished uploads' }),
    open_volumes: Type.Integer({ description: 'volumes of these uploads' }),
  },
  { $id: 'AccountDetails' },
);
export type AccountDetails = Static<typeof AccountDetails>;

export const InvitationBody = Type.Object(
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
    quota_bytes: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'quota of the new account, instead of SZ_QUOTA',
      }),
    ),
  },
  { $id: 'InvitationRequest', additionalProperties: false },
);
export type InvitationBody = Static<typeof InvitationBody>;

const invitation = {
  id: Type.String(),
  note: Type.String(),
  quota_bytes: Type.Union([Type.Integer(), Type.Null()]),
  created_at: Time('when it was created'),
  expires_at: Time('when it expires'),
};
export const Invitation = Type.Object(invitation, { $id: 'Invitation' });
export type Invitation = Static<typeof Invitation>;
export const NewInvitation = Type.Object(
  { ...invitation, invite: Type.String({ description: 'the invitation itself; it is not shown again' }) },
  { $id: 'NewInvitation' },
);
export type NewInvitation = Static<typeof NewInvitation>;

export const TransferRecord = Type.Object(
  {
    file_id: Type.String({
      description: 'the id of the file it becomes; the transfer id itself is secret',
    }),
    creator: Type.String(),
    status: Type.String({ description: 'uploading, or failed: complete failed and can be repeated' }),
    stored_size: Type.Integer({ description: 'bytes of its volumes that are known so far' }),
    chunk_count: Type.Integer({ description: 'volumes that are known so far' }),
    created_at: Time('when it began'),
    touched_at: Time('last use, exact to an hour'),
  },
  { $id: 'Transfer' },
);
export type TransferRecord = Static<typeof TransferRecord>;

export const ShareRecord = Type.Object(
  {
    id: Type.String(),
    owner: Type.String(),
    to: Type.Union([Type.String(), Type.Null()], { description: 'the recipient account; null: a link' }),
    files: Type.Integer(),
    created_at: Time('when it was created'),
    expires_at: TimeOrNever('null: it does not expire'),
    downloads: Type.Union([Type.Integer(), Type.Null()], {
      description: 'maximum number; null: no limit',
    }),
    downloaded: Type.Integer({ description: 'number so far' }),
  },
  { $id: 'ShareRecord' },
);
export type ShareRecord = Static<typeof ShareRecord>;

export const RequestRecord = Type.Object(
  {
    id: Type.String(),
    owner: Type.String(),
    created_at: Time('when it was created'),
    expires_at: TimeOrNever('null: it does not expire'),
    max_files: Type.Integer({ description: 'maximum number of files' }),
    max_bytes: Type.Integer({ description: 'maximum number of bytes' }),
    delivered: Type.Integer({ description: 'files that have arrived' }),
    delivered_bytes: Type.Integer(),
    uploading: Type.Integer({ description: 'uploads that are not finished' }),
  },
  { $id: 'RequestRecord' },
);
export type RequestRecord = Static<typeof RequestRecord>;

export const ServerStatus = Type.Object(
  {
    version: Type.String(),
    service_id: Type.String(),
    store_id: Type.String(),
    database: Type.String({ description: 'sqlite or postgres' }),
    volumes: Type.String({ description: 'folder or s3' }),
    registration: Type.String({ description: 'open, closed or invite' }),
    quota_enforced: Type.Boolean(),
    read_only_since: TimeOrNever('since when writes are refused; null: they are not'),
    contested_since: TimeOrNever('since when another database uses the store; null: none does'),
    transfers: Type.Object({
      uploading: Type.Integer(),
      storing: Type.Integer(),
      failed: Type.Integer(),
    }),
    pulls: Type.Integer({ description: 'pulls that run' }),
    garbage: Type.Integer({ description: 'volume groups waiting to be removed' }),
    orphans: Type.Integer({ description: 'volume groups without a record' }),
    invitations: Type.Integer({ description: 'that can still be used' }),
    sharing: Type.Boolean({ description: 'whether files may be shared (SZ_SHARES)' }),
    shares: Type.Integer({ description: 'that have not ended' }),
    requests: Type.Integer({ description: 'that have not ended' }),
    accounts: Type.Integer({
      description: 'this and the next two are from the last count, seconds to minutes ago',
    }),
    files: Type.Integer(),
    stored_bytes: Type.Integer(),
    scrub: Type.Object({
      running: Type.Boolean(),
      began_at: TimeOrNever('start of the latest scrub; null: none yet'),
      ended_at: TimeOrNever('end of the latest complete scrub; null: none yet'),
      progress: Type.Number({ description: '0 to 1' }),
      faults: Type.Integer({ description: 'volumes of files that are missing or damaged' }),
    }),
  },
  { $id: 'ServerStatus' },
);
export type ServerStatus = Static<typeof ServerStatus>;

export const AuditRecord = Type.Object(
  {
    seq: Type.Integer(),
    at: Time('when it was done'),
    actor: Type.String({
      description: 'account, operator (a command on the server), system token, or service',
    }),
    account: Type.String({ description: 'the account concerned; empty if it is about the whole server' }),
    action: Type.String(),
    detail: Type.String(),
  },
  { $id: 'AuditRecord' },
);
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
