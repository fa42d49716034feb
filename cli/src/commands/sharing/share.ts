import { freePath, joinPath, lastOf, type ShareItem } from '@szafa/client/node';
import { limits } from '@szafa/protocol';
import type { Command, Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { connect } from '../../lib/account/connection.ts';
import { readSecret } from '../../lib/account/questions.ts';
import { drawn } from '../../lib/print/qr.ts';
import { parseCount, parseEnd } from '../../lib/print/quantities.ts';
import { formatTime, oneLine, plural } from '../../lib/print/text.ts';
import { SHOWN } from '../../lib/select/by-id.ts';
import { Lookup } from '../../lib/select/lookup.ts';
import { type Choice, chooseFiles, newestOf, prove } from '../../lib/select/selection.ts';
import { Batch } from '../../lib/transfer/batch.ts';

const TITLE_NAMES = 3;

/**
 * By their names, with a number where two have the same one: the folders that they lie in are the owner's business. A name that ends in `/`
 * is an empty folder.
 */
function itemsOf({ files, emptyFolders }: Choice): ShareItem[] {
  const taken = new Set<string>();
  const shown = new Map<string, string>();
  const named = (own: string, what: (top: string) => string) => {
    const [top = own, ...more] = own.split('/');
    const key = what(top);
    const name = shown.get(key) ?? freePath(taken, top);
    taken.add(name);
    shown.set(key, name);
    return [name, ...more].join('/');
  };
  const ofFiles = files.map(({ entry, path, base, below, byId }) => {
    const own = byId ? lastOf(path) : below;
    return { entry, name: named(own, (top) => (own === top ? entry.fileId : joinPath(base, top))) };
  });
  const ofFolders = emptyFolders.map(({ markers, base, below }) => ({
    ...{ entry: markers[0]!, name: `${named(below, (top) => joinPath(base, top))}/` },
  }));
  return [...ofFiles, ...ofFolders];
}

/** As those see it who get it: the folders that it lies in are the owner's business. */
function shownTitle(items: readonly ShareItem[]): string {
  const names = [...new Set(items.map(({ name }) => name.split('/')[0]!))];
  return `${names.slice(0, TITLE_NAMES).join(', ')}${names.length > TITLE_NAMES ? ', …' : ''}`;
}

async function passphraseOf({ flags, settings, signal }: Invocation): Promise<string | undefined> {
  if (!flags.passphrase) return undefined;
  const source = settings.linkPassphrase;
  const passphrase = await readSecret({ source, what: 'passphrase of the link', twice: true, signal });
  if (passphrase === '') throw new UsageError('the passphrase is empty', 'omit --passphrase, or give one');
  return passphrase;
}

export const command: Command = async (invocation) => {
  const { args, flags, out, signal } = invocation;
  const expires = flags.expires === undefined ? undefined : parseEnd('expires', flags.expires);
  const downloads =
    flags.downloads === undefined
      ? undefined
      : parseCount('downloads', flags.downloads, limits.shareDownloads);
  if (flags.with !== undefined && flags.passphrase)
    throw new UsageError(
      '--passphrase is for links',
      'what is shared with an account opens for its owner alone',
    );
  const passphrase = await passphraseOf(invocation);
  await using connection = await connect(invocation, { keys: 'needed' });
  const { szafa } = connection;
  const batch = new Batch(out);
  const choice = chooseFiles(await new Lookup(szafa, signal).tree(), invocation, batch);
  for (const file of choice.files) file.entry = await newestOf(szafa, file.among, signal);
  // Where nothing but the server's directory stands for a folder there is no file whose key could be given.
  for (const { path } of choice.emptyFolders.filter(({ markers }) => markers.length === 0)) {
    const hint = 'put something into it, or leave it out';
    batch.fail(new CliError('nothing', 'the folder is empty: there is nothing to share', hint), path);
  }
  // Half of what was asked for is not what somebody wants to give away.
  if (batch.failed > 0) return batch.finish();
  const items = itemsOf(choice);
  if (items.length === 0) throw new CliError('nothing', 'the folder is empty', 'there is nothing to share');
  const byPath = choice.files.filter(({ byId }) => !byId);
  await prove(
    szafa,
    byPath.map(({ entry }) => entry),
    signal,
  );
  const expiresAt = expires === undefined ? undefined : new Date(expires);
  const until = expires === undefined ? 'until you end it' : `until ${formatTime(expires)}`;
  const times = downloads === undefined ? '' : `, ${plural(downloads, 'download')}`;
  if (flags.with !== undefined) {
    const id = await szafa.shareWith(flags.with, items, {
      ...{ title: shownTitle(items), note: flags.note, expiresAt, downloads, signal },
    });
    const to = flags.with;
    const fields = { id, to, files: items.length, expires_at: expires ?? null, downloads: downloads ?? null };
    out.answer('share', fields, id);
    const message = `${oneLine(to)} gets ${plural(items.length, 'file')} ${until}${times}; end it with: szafa unshare ${id.slice(0, SHOWN)}`;
    out.note('shared', message);
    // As it was used, without asking again: what is shared is shared.
    if ((await szafa.rememberedContact(to))?.state !== 'verified') {
      const advice = `the keys of ${oneLine(to)} are those that the server gave; to be sure of them: szafa contact ${oneLine(to)}`;
      out.note('not-verified', advice);
    }
    return;
  }
  // In the owner's own list, and nowhere else.
  const title = args.length === 1 ? args[0]! : `${plural(items.length, 'file')}: ${args.join(', ')}`;
  const { id, link } = await szafa.shareLink(items, {
    ...{ title, note: flags.note, passphrase, expiresAt, downloads, signal },
  });
  const fields = { id, link, files: items.length, expires_at: expires ?? null, downloads: downloads ?? null };
  out.answer('link', fields, link);
  if (out.json || out.quiet) return;
  if (out.terminal) for (const line of drawn(link, process.stderr.columns)) process.stderr.write(`${line}\n`);
  const message = `whoever has this link${passphrase === undefined ? '' : ' and the passphrase'} gets ${plural(items.length, 'file')} ${until}${times}; end it with: szafa unshare ${id.slice(0, SHOWN)}`;
  out.note('shared', message);
};
