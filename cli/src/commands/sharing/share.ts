import { freePath, joinPath, lastOf, type ShareItem } from '@szafa/client/node';
import { limits } from '@szafa/protocol';
import type { Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { withAccount } from '../../lib/account/connection.ts';
import { readSecret } from '../../lib/account/secrets.ts';
import { showQr } from '../../lib/print/qr.ts';
import { parseCount, parseEnd } from '../../lib/print/quantities.ts';
import { ID_COLUMNS } from '../../lib/print/tables.ts';
import { formatTime, oneLine, plural } from '../../lib/print/text.ts';
import { findNewest, requireProven, type Selection, selectFiles } from '../../lib/select/selection.ts';
import { checkExclusive } from '../../options.ts';

const TITLE_NAMES = 3;

/**
 * Names the shared files without revealing the folders above them. Numbers duplicate names. A name that ends in `/` is an empty
 * folder.
 */
function nameItems({ files, emptyFolders }: Selection): ShareItem[] {
  const taken = new Set<string>();
  const topNames = new Map<string, string>();
  /** `keyOf` returns a key for the first part of the path, so that all files of one folder get the same top name. */
  const nameOf = (path: string, keyOf: (top: string) => string) => {
    const [top = path, ...more] = path.split('/');
    const key = keyOf(top);
    const name = topNames.get(key) ?? freePath(taken, top);
    taken.add(name);
    topNames.set(key, name);
    return [name, ...more].join('/');
  };
  const ofFiles = files.map(({ entry, path, base, below, byId }) => {
    const own = byId ? lastOf(path) : below;
    return { entry, name: nameOf(own, (top) => (own === top ? entry.fileId : joinPath(base, top))) };
  });
  const ofFolders = emptyFolders.map(({ markers, base, below }) => ({
    ...{ entry: markers[0]!, name: `${nameOf(below, (top) => joinPath(base, top))}/` },
  }));
  return [...ofFiles, ...ofFolders];
}

/** The title that the recipient sees. */
function publicTitle(items: readonly ShareItem[]): string {
  const names = [...new Set(items.map(({ name }) => name.split('/')[0]!))];
  return `${names.slice(0, TITLE_NAMES).join(', ')}${names.length > TITLE_NAMES ? ', …' : ''}`;
}

async function readPassphrase({ flags, settings, signal }: Invocation): Promise<string | undefined> {
  if (!flags.passphrase) return undefined;
  const source = settings.linkPassphrase;
  const passphrase = await readSecret({ source, what: 'passphrase of the link', twice: true, signal });
  if (passphrase === '') throw new UsageError('the passphrase is empty', 'omit --passphrase, or give one');
  return passphrase;
}

function readLimits({ flags }: Invocation) {
  checkExclusive(flags, 'with', 'passphrase');
  const expires = flags.expires === undefined ? undefined : parseEnd('expires', flags.expires);
  const most = limits.shareDownloads;
  const downloads =
    flags.downloads === undefined ? undefined : parseCount('downloads', flags.downloads, most);
  return { expires, downloads };
}

export const share = withAccount({ keys: 'needed', check: readLimits }, async (invocation) => {
  const { args, flags, out, batch, signal, szafa, lookup } = invocation;
  const { expires, downloads } = readLimits(invocation);
  const passphrase = await readPassphrase(invocation);
  const selection = selectFiles(await lookup.tree(), invocation);
  for (const file of selection.files) file.entry = await findNewest(invocation, file.among);
  // An empty folder without a record has no key that could be shared.
  for (const { path } of selection.emptyFolders.filter(({ markers }) => markers.length === 0)) {
    const hint = 'put something into it, or leave it out';
    batch.fail(new CliError('nothing', 'the folder is empty: there is nothing to share', hint), path);
  }
  // Share everything that was named, or nothing.
  if (batch.failed > 0) return;
  const items = nameItems(selection);
  if (items.length === 0) throw new CliError('nothing', 'the folder is empty', 'there is nothing to share');
  const byPath = selection.files.filter(({ byId }) => !byId).map(({ entry }) => entry);
  await requireProven(invocation, byPath);
  const expiresAt = expires === undefined ? undefined : new Date(expires);
  const until = expires === undefined ? 'until you end it' : `until ${formatTime(expires)}`;
  const limit = downloads === undefined ? '' : `, ${plural(downloads, 'download')}`;
  const counted = { files: items.length, expires_at: expires ?? null, downloads: downloads ?? null };
  const options = { note: flags.note, expiresAt, downloads, signal };
  const report = (who: string, id: string) => {
    const what = `${plural(items.length, 'file')} ${until}${limit}`;
    out.note('shared', `${who} gets ${what}; end it with: szafa unshare ${id.slice(0, ID_COLUMNS)}`);
  };
  if (flags.with !== undefined) {
    const to = flags.with;
    const id = await szafa.shareWith(to, items, { ...options, title: publicTitle(items) });
    out.answer('share', { id, to, ...counted }, id);
    report(oneLine(to), id);
    // Only read the stored contact: the files are already shared, so a new check comes too late.
    if ((await szafa.rememberedContact(to))?.state === 'verified') return;
    const name = oneLine(to);
    const advice = `the keys of ${name} come from the server and are not verified; to compare them: szafa contact ${name}`;
    out.note('not-verified', advice);
    return;
  }
  // Only the owner sees this title, so it may contain paths.
  const title = args.length === 1 ? args[0]! : `${plural(items.length, 'file')}: ${args.join(', ')}`;
  const { id, link } = await szafa.shareLink(items, { ...options, title, passphrase });
  out.answer('link', { id, link, ...counted }, link);
  if (out.json) return;
  showQr(out, link);
  report(`anyone with this link${passphrase === undefined ? '' : ' and the passphrase'}`, id);
});
