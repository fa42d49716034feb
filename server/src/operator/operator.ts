import { randomBytes } from 'node:crypto';
import {
  type AccountDetails,
  type AccountLimits,
  type AccountRecord,
  type AuditRecord,
  type Invitation,
  type InvitationBody,
  type LimitsChange,
  limitNames,
  limits,
  type NewInvitation,
  type PageQuery,
  type RequestRecord,
  RuleError,
  type ServerStatus,
  type ShareRecord,
  type TransferRecord,
} from '@szafa/protocol';
import { AccountDeletion } from '../accounts/deletion.ts';
import type { InvitationRow } from '../accounts/invitations-table.ts';
import type { Config } from '../config.ts';
import type { Metadata } from '../metadata.ts';
import { ApiError } from '../platform/http/api-error.ts';
import { hashToken, newToken } from '../platform/ids.ts';
import type { VolumeStore } from '../platform/volumes/store.ts';
import { cancelTransfer } from '../transfers/transfers.ts';
import { scrubState } from '../upkeep/scrub.ts';
import { VERSION } from '../version.ts';
import type { AccountRow } from './accounts-table.ts';
import { type Actor, recordAudit } from './audit-table.ts';
import { requireWritable } from './mode.ts';

/** A page of a list, and where the next one begins. */
export type Page<Name extends string, T> = Record<Name, T[]> & { next_cursor?: string };

interface Dependencies {
  metadata: Metadata;
  volumes: Pick<VolumeStore, 'hasManifest'>;
  config: Pick<Config, 'quotaBytes' | 'quotaEnforced' | 'registration' | 'database' | 's3' | 'shares'>;
  /** By which way the operator came. */
  actor: Actor;
  now?: () => number;
}

const iso = (time: number) => new Date(time).toISOString();
const isoOrNull = (time: number | null) => (time === null ? null : iso(time));
const unknownAccount = () => new ApiError(404, 'no such account');

/** What an operator may see and do, with a command or with the system token: both come here. */
export class Operator {
  readonly #metadata: Metadata;
  readonly #volumes: Dependencies['volumes'];
  readonly #config: Dependencies['config'];
  readonly #actor: Actor;
  readonly #now: () => number;

  constructor({ metadata, volumes, config, actor, now = Date.now }: Dependencies) {
    this.#metadata = metadata;
    this.#volumes = volumes;
    this.#config = config;
    this.#actor = actor;
    this.#now = now;
  }

  async accounts({ cursor = '', limit }: PageQuery): Promise<Page<'accounts', AccountRecord>> {
    const { page, next } = await pageOf(limit, (most) => this.#metadata.accountRecords.list(cursor, most));
    return { accounts: page.map((row) => this.#record(row)), ...cursorOf(next, ({ username }) => username) };
  }

  async account(username: string): Promise<AccountDetails> {
    const row = await this.#metadata.accountRecords.get(username);
    if (!row) throw unknownAccount();
    const { passkeys, sessions, usedAt, transfers, volumes } =
      await this.#metadata.accountRecords.activity(username);
    return {
      ...this.#record(row),
      totp: row.totp === 1,
      passkeys,
      sessions,
      used_at: isoOrNull(usedAt),
      open_transfers: transfers,
      open_volumes: volumes,
    };
  }

  async limit(username: string, change: LimitsChange): Promise<AccountDetails> {
    const { accountRecords } = this.#metadata;
    if (!(await accountRecords.setLimits(username, change, this.#now(), this.#actor))) throw unknownAccount();
    return this.account(username);
  }

  /** Nothing of it is deleted, and it may be enabled again. Its next request is refused, also of an upload under way. */
  async disable(username: string): Promise<void> {
    await this.#setDisabled(username, true);
  }

  async enable(username: string): Promise<void> {
    await this.#setDisabled(username, false);
  }

  async #setDisabled(username: string, disabled: boolean): Promise<void> {
    const { accountRecords } = this.#metadata;
    const result = await accountRecords.setDisabled(username, disabled, this.#now(), this.#actor);
    if (result === 'no account') throw unknownAccount();
  }

  /** With all that it has, as when its user deletes it. */
  async remove(username: string): Promise<void> {
    await requireWritable(this.#metadata);
    const { deletions } = this.#metadata;
    const leaving = await deletions.begin(username, { actor: this.#actor, now: this.#now() });
    if (!leaving) throw unknownAccount();
    await new AccountDeletion(this.#metadata, this.#volumes, this.#now).finish(leaving);
  }

  /** How many sessions and tokens have ended. */
  async logout(username: string): Promise<number> {
    const ended = await this.#metadata.accountRecords.logout(username, this.#now(), this.#actor);
    if (ended === undefined) throw unknownAccount();
    return ended;
  }

  /** Whether a second factor was on. The password is all that a login needs from now on. */
  async factorOff(username: string): Promise<boolean> {
    const wasOn = await this.#metadata.factors.clear(username, this.#now(), this.#actor);
    if (wasOn === undefined) throw unknownAccount();
    return wasOn;
  }

  async invite({ note: text = '', expires_in, quota_bytes }: InvitationBody): Promise<NewInvitation> {
    const now = this.#now();
    const row: InvitationRow = {
      id: randomBytes(8).toString('hex'),
      note: text.toWellFormed().replace(/\p{Cc}/gu, ' '),
      quota_bytes: quota_bytes ?? null,
      created_at: now,
      expires_at: now + (expires_in ?? limits.inviteSeconds.usual) * 1000,
    };
    const invite = newToken();
    await this.#metadata.invitations.create(hashToken(invite), row, this.#actor);
    return { ...invitationOf(row), invite };
  }

  async invitations({ cursor = '', limit }: PageQuery): Promise<Page<'invitations', Invitation>> {
    const { page, next } = await pageOf(limit, (most) =>
      this.#metadata.invitations.list(cursor, this.#now(), most),
    );
    return { invitations: page.map(invitationOf), ...cursorOf(next, ({ id }) => id) };
  }

  async endInvitation(id: string): Promise<void> {
    const ended = await this.#metadata.invitations.end(id, this.#now(), this.#actor);
    if (!ended) throw new ApiError(404, 'no such invitation');
  }

  async transfers({ cursor, limit, account }: PageQuery): Promise<Page<'transfers', TransferRecord>> {
    const [touched = '0', fileId = ''] = cursor?.split('_') ?? [];
    const after = { touchedAt: numberIn(touched), fileId };
    const { page, next } = await pageOf(limit, (most) =>
      this.#metadata.transfers.listOpen(after, most, account),
    );
    return {
      transfers: page.map(({ file_id, creator, status, stored_size, chunk_count, ...times }) => ({
        file_id,
        creator,
        status,
        stored_size,
        chunk_count,
        created_at: iso(times.created_at),
        touched_at: iso(times.touched_at),
      })),
      ...cursorOf(next, ({ touched_at, file_id }) => `${touched_at}_${file_id}`),
    };
  }

  async cancel(fileId: string): Promise<void> {
    await requireWritable(this.#metadata);
    const transfer = await this.#metadata.transfers.getByFile(fileId);
    if (!transfer) throw new ApiError(404, 'no such upload');
    const [at, actor, account] = [this.#now(), this.#actor, transfer.creator];
    await cancelTransfer(this.#metadata, this.#volumes, transfer, at, (tx) =>
      recordAudit(tx, { at, actor, account, action: 'upload cancelled', detail: fileId }),
    );
  }

  async shares({ cursor = '', limit, account }: PageQuery): Promise<Page<'shares', ShareRecord>> {
    const { page, next } = await pageOf(limit, (most) =>
      this.#metadata.shares.listOpen(cursor, most, account),
    );
    return {
      shares: page.map(({ id, owner, recipient, files, downloads, downloaded, created_at, expires_at }) => ({
        ...{ id, owner, to: recipient, files, downloads, downloaded },
        created_at: iso(created_at),
        expires_at: isoOrNull(expires_at),
      })),
      ...cursorOf(next, ({ id }) => id),
    };
  }

  async endShare(id: string): Promise<void> {
    const ended = await this.#metadata.shares.end(id, this.#now(), this.#actor);
    if (!ended) throw new ApiError(404, 'no such share');
  }

  async requests({ cursor = '', limit, account }: PageQuery): Promise<Page<'requests', RequestRecord>> {
    const { page, next } = await pageOf(limit, (most) =>
      this.#metadata.requests.listOpen(cursor, most, account),
    );
    return {
      requests: page.map(({ id, owner, files, bytes, uploading, ...row }) => ({
        ...{ id, owner, max_files: files, max_bytes: bytes, uploading },
        delivered: row.begun - uploading,
        delivered_bytes: row.begun_bytes - row.uploading_bytes,
        created_at: iso(row.created_at),
        expires_at: isoOrNull(row.expires_at),
      })),
      ...cursorOf(next, ({ id }) => id),
    };
  }

  /** What is on its way by it goes when the sweeper next comes by. */
  async endRequest(id: string): Promise<void> {
    const ended = await this.#metadata.requests.end(id, this.#now(), this.#actor);
    if (!ended) throw new ApiError(404, 'no such request');
  }

  async status(): Promise<ServerStatus> {
    const { store, transfers, pulls, garbage, orphans, invitations, shares, requests, totals } =
      this.#metadata;
    const facts = await store.get();
    const { accounts, files, bytes } = await totals.get();
    const { running, startedAt, endedAt, progress, faults } = await scrubState(this.#metadata);
    const at = (ms: number) => isoOrNull(ms === 0 ? null : ms);
    return {
      version: VERSION,
      service_id: facts.serviceId,
      store_id: facts.id,
      database: this.#config.database === undefined ? 'sqlite' : 'postgres',
      volumes: this.#config.s3 === undefined ? 'folder' : 's3',
      registration: this.#config.registration,
      quota_enforced: this.#config.quotaEnforced,
      read_only_since: isoOrNull(facts.readOnlyAt),
      contested_since: isoOrNull(facts.contestedAt),
      transfers: {
        uploading: await transfers.openCount('uploading'),
        storing: await transfers.openCount('storing'),
        failed: await transfers.openCount('failed'),
      },
      pulls: await pulls.running(this.#now()),
      garbage: await garbage.count(),
      orphans: await orphans.count(),
      invitations: await invitations.count(),
      sharing: this.#config.shares,
      shares: await shares.count(),
      requests: await requests.count(),
      accounts,
      files,
      stored_bytes: Number(bytes),
      scrub: { running, began_at: at(startedAt), ended_at: at(endedAt), progress, faults },
    };
  }

  /** All nodes follow within `MODE_MS`. */
  async setReadOnly(on: boolean): Promise<void> {
    await this.#metadata.store.setReadOnly(on, this.#now(), this.#actor);
  }

  async audit({ cursor, limit, account }: PageQuery): Promise<Page<'entries', AuditRecord>> {
    const before = cursor === undefined ? undefined : numberIn(cursor);
    const { page, next } = await pageOf(limit, (most) =>
      this.#metadata.audit.list({ account, before, limit: most }),
    );
    return {
      entries: page.map((row) => ({ ...row, at: iso(row.at) })),
      ...cursorOf(next, ({ seq }) => String(seq)),
    };
  }

  #record(row: AccountRow): AccountRecord {
    const own = Object.fromEntries(limitNames.map((name) => [name, row[name]])) as AccountLimits;
    return {
      username: row.username,
      account_id: row.account_id,
      created_at: iso(row.created_at),
      disabled_at: isoOrNull(row.disabled_at),
      files: row.files,
      // Beyond what a number holds exactly it is a little off, and nobody minds.
      used_bytes: Number(row.bytes),
      extra_bytes: row.extra,
      quota_bytes: row.quota_bytes ?? this.#config.quotaBytes,
      limits: own,
    };
  }
}

const invitationOf = ({
  id,
  note: text,
  quota_bytes,
  created_at,
  expires_at,
}: InvitationRow): Invitation => ({
  id,
  note: text,
  quota_bytes,
  created_at: iso(created_at),
  expires_at: iso(expires_at),
});

/** One more is asked for than is shown: so it is known whether there are more. */
async function pageOf<T>(
  limit: string | undefined,
  list: (most: number) => Promise<T[]>,
): Promise<{ page: T[]; next: T | undefined }> {
  const most = Math.min(limit === undefined ? limits.adminPage : Number(limit), limits.listPage);
  const rows = await list(most + 1);
  const page = rows.slice(0, most);
  return { page, next: rows.length > most ? page.at(-1) : undefined };
}

const cursorOf = <T>(last: T | undefined, of: (row: T) => string) =>
  last === undefined ? {} : { next_cursor: of(last) };

/** Of a cursor that somebody may have made up. */
function numberIn(text: string): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw new RuleError('cursor: not one that this list gave');
  return value;
}
