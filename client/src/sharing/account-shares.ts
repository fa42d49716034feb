/** Shares between accounts: sealed for the other's key, and signed; nobody else gets them, and no link is needed. */
import {
  bytesOf,
  type Letter,
  type LinkKey,
  openLetter,
  openLink,
  parseLinkHeader,
  sealLetter,
  sealLink,
  sealShareRecord,
  toBase64Url,
  utf8,
} from '@szafa/format';
import { cleanUsername, headers as headerNames, type ReceivedShare as ReceivedAnswer } from '@szafa/protocol';
import { SzafaError } from '../errors.ts';
import type { OpenContext } from '../transfers/download/context.ts';
import type { Contacts } from './contacts.ts';
import { OpenedLink, overOr } from './link-visit.ts';
import {
  newShareId,
  noteOf,
  type OwnJson,
  type ShareItem,
  type ShareOptions,
  sharedFiles,
  sizeOf,
  titleOf,
} from './links.ts';

type Context = OpenContext & { contacts: Contacts };

/** The id of the share. Of the files as they are now: one that is uploaded anew later is another one. */
export async function shareWith(
  context: Context,
  username: string,
  items: readonly ShareItem[],
  options: ShareOptions = {},
): Promise<string> {
  const { api, engine, keys, contacts } = context;
  const { note, expiresAt, downloads, signal } = options;
  const from = await contacts.own(signal);
  if (cleanUsername(username) === from.username)
    throw new SzafaError('own-account', 'these are your own files: share them with somebody else');
  const to = await contacts.trusted(username, signal);
  const files = await sharedFiles(context, items, options);
  const { header, key } = await sealLink(engine, { files, ...(note !== undefined && { note }) });
  for (const { fileKey } of files) fileKey.fill(0);
  const id = newShareId(context);
  const about = { title: titleOf(items, options), size: sizeOf(files) };
  const letter = await sealLetter(engine, { shareId: id, from, to }, { key, ...about, made: Date.now() });
  const own: OwnJson = { kind: 'account', to: to.username, ...about, ...noteOf(options), passphrase: false };
  await api.call('createShare', {
    body: {
      id,
      files: items.map(({ entry }) => entry.fileId),
      header: toBase64Url(header),
      to: {
        ...{ username: to.username, letter: toBase64Url(letter) },
        // That the name is known: it is not asked for twice.
        identity: (await engine.sha256(utf8(to.text))).toHex(),
      },
      own: toBase64Url(await sealShareRecord(engine, await keys.current(signal), id, own)),
      expires_at: expiresAt?.toISOString() ?? null,
      downloads: downloads ?? null,
    },
    signal,
  });
  return id;
}

/** What another account shares with this one. @public */
export class ReceivedShare {
  readonly id: string;
  /** Whose files they are, as the service says; where there is no problem, that one has signed it. */
  readonly from: string;
  /** As its owner calls it: clean it with `displayName` before use. */
  readonly title: string;
  /** Bytes of all files. */
  readonly size: number;
  /** When its owner made it, which they have signed; undefined where there is a problem. */
  readonly madeAt: string | undefined;
  /** Whether people have compared the fingerprint of whoever it is from. */
  readonly verified: boolean;
  /** When the service got it, it says. */
  readonly createdAt: string;
  readonly expiresAt: string | null;
  /** Null: any number. */
  readonly downloadsLeft: number | null;
  readonly files: number;
  /** Of these, how many their owner has deleted, or has in the trash. */
  readonly missing: number;
  /** Why it cannot be trusted, and does not open. */
  readonly problem: SzafaError | undefined;
  readonly #context: OpenContext;
  readonly #key: LinkKey | undefined;

  constructor(
    context: OpenContext,
    answer: ReceivedAnswer,
    letter: (Letter & { verified: boolean }) | { problem: SzafaError },
  ) {
    this.#context = context;
    this.id = answer.id;
    this.from = answer.from;
    this.createdAt = answer.created_at;
    this.expiresAt = answer.expires_at;
    this.downloadsLeft = answer.downloads_left;
    this.files = answer.files;
    this.missing = answer.missing;
    const opened = 'key' in letter ? letter : undefined;
    this.problem = 'problem' in letter ? letter.problem : undefined;
    this.title = opened?.title ?? '';
    this.size = opened?.size ?? 0;
    this.madeAt = opened && new Date(opened.made).toISOString();
    this.verified = opened?.verified ?? false;
    this.#key = opened?.key;
  }

  /** The files in it. With a ticket that was taken before, one that is used up still opens. */
  async open(
    options: { ticket?: string | undefined; signal?: AbortSignal | undefined } = {},
  ): Promise<OpenedLink> {
    const { api, engine } = this.#context;
    const key = this.#key;
    if (!key) throw this.problem!;
    const answer = await api
      .call('openReceived', {
        params: { share_id: this.id },
        headers: { [headerNames.shareTicket]: options?.ticket },
        signal: options?.signal,
      })
      .catch((error) => {
        throw overOr(error);
      });
    const parsed = await parseLinkHeader(engine, bytesOf(answer.header, 'link', 'the header'), key);
    const { files, note } = await openLink(engine, parsed, key);
    const take = (ticket: string, signal?: AbortSignal) =>
      api.call('takeReceived', { params: { share_id: this.id }, body: { ticket }, signal });
    return new OpenedLink({ api, engine, id: this.id, take }, files, note, new Set(answer.missing));
  }
}

/** All that is not over, the latest first by what their owners signed. Those that cannot be trusted come last, with their problems. */
export async function listReceived(context: Context, signal?: AbortSignal): Promise<ReceivedShare[]> {
  const { api, contacts } = context;
  const answers = (await api.call('listReceived', { signal })).shares;
  if (answers.length === 0) return [];
  const to = await contacts.own(signal);
  const shares: ReceivedShare[] = [];
  for (const answer of answers) {
    try {
      const { identity: from, verified } = await contacts.received(answer.from, answer.identity, signal);
      const bytes = bytesOf(answer.letter, 'letter', 'what opens the share');
      const letter = await openLetter({ shareId: answer.id, from, to }, bytes);
      shares.push(new ReceivedShare(context, answer, { ...letter, verified }));
    } catch (error) {
      if (!(error instanceof SzafaError) || error.code === 'network' || error.code === 'pins') throw error;
      shares.push(new ReceivedShare(context, answer, { problem: error }));
    }
  }
  const time = ({ madeAt }: ReceivedShare) => (madeAt === undefined ? -1 : Date.parse(madeAt));
  return shares.sort((a, b) => time(b) - time(a));
}
