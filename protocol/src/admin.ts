/** What operators see and set: the bodies below /api/admin, which only the system token may ask for. */
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { pageOf } from './pages.ts';
import { Type } from './type.ts';

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
  upload_rate: Own(limits.leastRate, 'bytes a second that each node takes; null: no limit'),
  download_rate: Own(limits.leastRate, 'bytes a second that each node sends; null: no limit'),
};

/** Of one account, where they differ from the settings. */
export const AccountLimits = Type.Object(own, { $id: 'AccountLimits' });
export type AccountLimits = Static<typeof AccountLimits>;
export type LimitName = keyof AccountLimits;
export const limitNames = Object.keys(own) as LimitName[];
/** Nobody has any of their own. */
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
    description: 'what is not named stays as it is',
  },
);
export type LimitsChange = Static<typeof LimitsChange>;

const account = {
  username: Type.String(),
  account_id: Type.String({ description: 'tells it from an earlier account of the same name' }),
  created_at: Time('when it was registered'),
  disabled_at: TimeOrNever('since when it is disabled; null: it is not'),
  files: Type.Integer(),
  used_bytes: Type.Integer({ description: 'sum of the sizes of its files' }),
  extra_bytes: Type.Integer({
    description:
      'bytes of enc_params and thumbnails of its files; where the quota is enforced they have an allowance',
  }),
  quota_bytes: Type.Integer({ description: 'that holds for it' }),
  limits: AccountLimits,
};
export const AccountRecord = Type.Object(account, { $id: 'Account' });
export type AccountRecord = Static<typeof AccountRecord>;

export const AccountDetails = Type.Object(
  {
    ...account,
    totp: Type.Boolean({ description: 'whether a login takes a code as second factor' }),
    passkeys: Type.Integer({ description: 'that it takes as well' }),
    sessions: Type.Integer({ description: 'tokens that are valid' }),
    used_at: TimeOrNever('when one of them was last used, to within an hour; null: there is none'),
    open_transfers: Type.Integer({ description: 'unfinished uploads' }),
    open_volumes: Type.Integer({ description: 'volumes of all of them' }),
  },
  { $id: 'AccountDetails' },
);
export type AccountDetails = Static<typeof AccountDetails>;

export const InvitationBody = Type.Object(
  {
    note: Type.Optional(
      Type.String({ maxLength: limits.noteChars, description: 'for the operator, as for whom it is' }),
    ),
    expires_in: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: limits.inviteSeconds.max,
        description: `seconds that it can be used for; ${limits.inviteSeconds.usual} if not said`,
      }),
    ),
    quota_bytes: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'space of the account that is made with it, instead of SZ_QUOTA',
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
  created_at: Time('when it was made'),
  expires_at: Time('until when it can be used'),
};
export const Invitation = Type.Object(invitation, { $id: 'Invitation' });
export type Invitation = Static<typeof Invitation>;
export const NewInvitation = Type.Object(
  { ...invitation, invite: Type.String({ description: 'for whoever registers; it is not shown again' }) },
  { $id: 'NewInvitation' },
);
export type NewInvitation = Static<typeof NewInvitation>;

export const TransferRecord = Type.Object(
  {
    file_id: Type.String({
      description: 'of the file that it becomes; its own id is known to those who use it only',
    }),
    creator: Type.String(),
    status: Type.String({ description: 'uploading, or failed: complete met a fault and can be repeated' }),
    stored_size: Type.Integer({ description: 'bytes of its volumes, as far as they were announced' }),
    chunk_count: Type.Integer({ description: 'volumes, as far as they were announced' }),
    created_at: Time('when it began'),
    touched_at: Time('when it was last used, to within an hour'),
  },
  { $id: 'Transfer' },
);
export type TransferRecord = Static<typeof TransferRecord>;

export const ShareRecord = Type.Object(
  {
    id: Type.String(),
    owner: Type.String(),
    to: Type.Union([Type.String(), Type.Null()], { description: 'the account that it is for; null: a link' }),
    files: Type.Integer(),
    created_at: Time('when it was made'),
    expires_at: TimeOrNever('null: it does not expire'),
    downloads: Type.Union([Type.Integer(), Type.Null()], {
      description: 'how many there may be; null: any number',
    }),
    downloaded: Type.Integer({ description: 'how many there were' }),
  },
  { $id: 'ShareRecord' },
);
export type ShareRecord = Static<typeof ShareRecord>;

export const RequestRecord = Type.Object(
  {
    id: Type.String(),
    owner: Type.String(),
    created_at: Time('when it was made'),
    expires_at: TimeOrNever('null: it does not expire'),
    max_files: Type.Integer({ description: 'how many may come' }),
    max_bytes: Type.Integer({ description: 'how many bytes may come' }),
    delivered: Type.Integer({ description: 'how many have come' }),
    delivered_bytes: Type.Integer(),
    uploading: Type.Integer({ description: 'how many are on their way' }),
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
    read_only_since: TimeOrNever('null: it is not read-only'),
    contested_since: TimeOrNever('null: the store is not contested'),
    transfers: Type.Object({
      uploading: Type.Integer(),
      storing: Type.Integer(),
      failed: Type.Integer(),
    }),
    pulls: Type.Integer({ description: 'that run' }),
    garbage: Type.Integer({ description: 'volume groups that wait to be removed' }),
    orphans: Type.Integer({ description: 'volume groups that no record names' }),
    invitations: Type.Integer({ description: 'that can be used' }),
    sharing: Type.Boolean({ description: 'whether files may be shared (SZ_SHARES)' }),
    shares: Type.Integer({ description: 'that are not over' }),
    requests: Type.Integer({ description: 'that are not over' }),
    accounts: Type.Integer({ description: 'these three as the sweeper last counted them' }),
    files: Type.Integer(),
    stored_bytes: Type.Integer(),
    scrub: Type.Object({
      running: Type.Boolean(),
      began_at: TimeOrNever('null: none has begun'),
      ended_at: TimeOrNever('of the latest whole one; null: none has ended'),
      progress: Type.Number({ description: '0 to 1' }),
      faults: Type.Integer({ description: 'volumes of files that are missing or wrong' }),
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
      description: 'an account, admin (the system token) or operator (a command on the server)',
    }),
    account: Type.String({ description: 'that it was done to; empty where it is the whole server' }),
    action: Type.String(),
    detail: Type.String(),
  },
  { $id: 'AuditRecord' },
);
export type AuditRecord = Static<typeof AuditRecord>;

const page = pageOf(`how many (${limits.adminPage} if not said)`, '^[\\w-]{1,80}$');
const ofAccount = Type.Optional(Type.String({ maxLength: 64, description: 'only of this account' }));
export const Page = Type.Object(page);
export const PageOfAccount = Type.Object({ ...page, account: ofAccount });
export interface PageQuery {
  limit?: string;
  cursor?: string;
  account?: string;
}
