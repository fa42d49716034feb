/** Shares between accounts. They need no link: each is sealed for the recipient's key and signed by the owner. */
import {
  bytesOf,
  type Letter,
  type LinkKey,
  openLetter,
  openLink,
  parseLinkHeader,
  sealLetter,
  toBase64Url,
  utf8,
} from '@szafa/format';
import { cleanUsername, headers as headerNames, type ReceivedShare as ReceivedAnswer } from '@szafa/protocol';
import type { CallOptions } from '../call.ts';
import { SzafaError } from '../errors.ts';
import type { OpenContext } from '../transfers/download/context.ts';
import type { Contacts } from './contacts.ts';
import { OpenedLink, throwOver } from './link-visit.ts';
import { createShare, type ShareItem, type ShareOptions } from './links.ts';

type Context = OpenContext & { contacts: Contacts };

/** See `Szafa.shareWith`. */
export async function shareWith(
  context: Context,
  username: string,
  items: readonly ShareItem[],
  options: ShareOptions = {},
): Promise<string> {
  const { engine, contacts } = context;
  const from = await contacts.own(options.signal);
  if (cleanUsername(username) === from.username)
    throw new SzafaError('own-account', 'these are your own files: share them with somebody else');
  const to = await contacts.trusted(username, options.signal);
  // Callers may pass the options of a link. The recipient never learns its passphrase, and could not open the share.
  const unlocked = { ...options, passphrase: undefined };
  const share = await createShare(context, items, unlocked, async ({ id, ...about }) => {
    const letter = await sealLetter(engine, { shareId: id, from, to }, { ...about, made: Date.now() });
    // Tells the server which keys the letter was sealed for.
    const identity = (await engine.sha256(utf8(to.text))).toHex();
    return {
      request: { to: { username: to.username, letter: toBase64Url(letter), identity } },
      record: { kind: 'account', to: to.username },
    };
  });
  return share.id;
}

/** A share that this account has received from another one. @public */
export class ReceivedShare {
  readonly id: string;
  /** The owner that the server names. The letter proves it unless there is a problem. */
  readonly from: string;
  /** The owner's name for the share: sanitise it with `displayName` before use. */
  readonly title: string;
  /** Bytes of all files. */
  readonly size: number;
  /** When the owner created the share, by the signed letter; undefined if there is a problem. */
  readonly madeAt: string | undefined;
  /** Whether the owner's fingerprint was compared. */
  readonly verified: boolean;
  /** When the server received the share. */
  readonly createdAt: string;
  readonly expiresAt: string | null;
  /** Null means unlimited. */
  readonly downloadsLeft: number | null;
  readonly files: number;
  /** Number of files that are deleted or in the owner's trash. */
  readonly missing: number;
  /** Why the share cannot be trusted and does not open. */
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

  /**
   * Opens the files.
   * @param options.ticket the ticket of an earlier download, which still opens a share whose downloads are used up
   */
  async open({ ticket, signal }: CallOptions & { ticket?: string | undefined } = {}): Promise<OpenedLink> {
    const { api, engine } = this.#context;
    const params = { share_id: this.id };
    const key = this.#key;
    if (!key) throw this.problem!;
    const headers = { [headerNames.shareTicket]: ticket };
    const answer = await api.call('openReceived', { params, headers, signal }).catch(throwOver);
    const parsed = await parseLinkHeader(engine, bytesOf(answer.header, 'link', 'the header'), key);
    const { files, note } = await openLink(engine, parsed, key);
    return new OpenedLink(
      { api, engine, id: this.id, take: (call) => api.call('takeReceived', { params, ...call }) },
      files,
      note,
      new Set(answer.missing),
    );
  }
}

/** See `Szafa.sharedWithMe`. Sorts by the signed time, latest first; shares with a problem come last. */
export async function listReceived(context: Context, signal?: AbortSignal): Promise<ReceivedShare[]> {
  const { api, contacts } = context;
  const answers = (await api.call('listReceived', { signal })).shares;
  if (answers.length === 0) return [];
  const to = await contacts.own(signal);
  const shares: ReceivedShare[] = [];
  for (const answer of answers) {
    try {
      const { identity: from, verified } = await contacts.received(answer.from, answer.identity, signal);
      const bytes = bytesOf(answer.letter, 'letter', 'the letter');
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
