/** get and cat of what another account shares with this one: all of it is one tree, and of two files of one name the one counts that was shared last. */
import { join } from 'node:path';
import { fileJournal, type Journal, LinkOverError, parentOf, type ReceivedShare } from '@szafa/client/node';
import type { Invocation } from '../../../command.ts';
import { CliError, UsageError } from '../../../errors.ts';
import { connect } from '../../account/connection.ts';
import { oneLine } from '../../print/text.ts';
import { SHOWN } from '../../select/by-id.ts';
import { fixedPart, isPattern, namePattern } from '../../select/glob.ts';
import { shownName, typedPath } from '../../select/paths.ts';
import { Batch } from '../batch.ts';
import { transfersOf } from '../concurrency.ts';
import { fetchParts, type Part, Ticket, type Wanted } from './opened.ts';

/** Those of one account that can be trusted; what is wrong with the others is told. */
export function trustedOf(
  shares: readonly ReceivedShare[],
  from: string,
  { out }: Invocation,
): ReceivedShare[] {
  const theirs = shares.filter((share) => share.from === from);
  const good = theirs.filter(({ problem }) => !problem);
  const problems = theirs.flatMap(({ problem }) => problem ?? []);
  // Other keys than before stop everything.
  const changed = problems.find(({ code }) => code === 'contact-changed');
  if (changed) throw changed;
  if (problems[0] && good.length === 0) throw problems[0];
  for (const { id, problem } of theirs) {
    if (problem) out.note('not-trusted', `ignoring the share ${id}: ${oneLine(problem.message)}`, { id });
  }
  if (good.length > 0) return good;
  throw new CliError('no-share', `${oneLine(from)} shares nothing with you`, 'szafa shared shows who does');
}

/**
 * Whether a path, or a folder above it, fits a pattern, segment by segment; `**` stands for any number of them. All places in the pattern
 * that the segments so far lead to are kept: a name with thousands of slashes is somebody else's, and takes no more than that many steps.
 */
function fits(names: readonly string[], pattern: readonly string[]): boolean {
  const tests = pattern.map((segment) => (segment === '**' ? undefined : namePattern(segment)));
  const withEmpty = (places: Set<number>) => {
    for (const place of places) if (place < tests.length && !tests[place]) places.add(place + 1);
    return places;
  };
  let places = withEmpty(new Set([0]));
  for (const name of names) {
    const next = new Set<number>();
    for (const place of places) {
      if (place === tests.length) continue;
      const test = tests[place];
      if (!test) next.add(place);
      else if (test.test(name)) next.add(place + 1);
    }
    places = withEmpty(next);
    if (places.has(tests.length)) return true;
  }
  return false;
}

/** Whether a path, or a folder above it, is the one that is asked for. */
export function isMeant(name: string, wanted: string): boolean {
  if (wanted === '' || name === wanted || name.startsWith(`${wanted}/`)) return true;
  return isPattern(wanted) && fits(name.replace(/\/$/, '').split('/'), wanted.split('/'));
}

/** What an argument names: all of a share by its ID, or files and folders by their paths. */
function meant(parts: readonly Part[], text: string): [Part, Wanted[]][] {
  const byId = text.length >= SHOWN ? parts.filter(({ opened }) => opened.id.startsWith(text)) : [];
  if (byId.length === 1) return [[byId[0]!, byId[0]!.files]];
  const path = typedPath(text);
  const base = isPattern(path) ? fixedPart(path) : parentOf(path);
  const seen = new Set<string>();
  const found = parts.map((part): [Part, Wanted[]] => {
    const files = part.files.filter(({ file: { name } }) => isMeant(name, path) && !seen.has(name));
    for (const { file } of files) seen.add(file.name);
    const from = base === '' ? 0 : base.length + 1;
    return [part, files.map(({ file }) => ({ file, below: file.name.slice(from) }))];
  });
  if (seen.size > 0) return found;
  const hint = 'szafa shared ID shows what is in a share';
  throw new CliError('no-file', `${shownName(text)} is not shared with you`, hint);
}

/** Those that are not over: one that is used up, or whose files are gone, does not stand in the way of the others. */
async function openAll(
  shares: readonly ReceivedShare[],
  server: string,
  journal: Journal,
  signal: AbortSignal,
): Promise<Part[]> {
  const parts: Part[] = [];
  let over: LinkOverError | undefined;
  for (const share of shares) {
    const ticket = await Ticket.kept(journal, server, share.id);
    try {
      const opened = await share.open({ ticket: ticket.text, signal });
      parts.push({ opened, ticket, files: opened.files.map((file) => ({ file, below: file.name })) });
    } catch (error) {
      if (!(error instanceof LinkOverError)) throw error;
      over = error;
    }
  }
  if (parts.length === 0 && over) throw over;
  return parts;
}

export async function getShared(invocation: Invocation, from: string, toStdout: boolean): Promise<void> {
  const { args, flags, settings, out, signal } = invocation;
  if (flags.checksum) {
    throw new UsageError(
      '--checksum does not go with --from',
      'omit it: what is there with the same size and time is skipped',
    );
  }
  const began = performance.now();
  out.dataOnStdout = toStdout;
  const needs = { keys: 'needed' as const, transfers: transfersOf(invocation) };
  await using connection = await connect(invocation, needs);
  const shares = trustedOf(await connection.szafa.sharedWithMe({ signal }), from, invocation);
  const journal = fileJournal(join(settings.config, 'journal'));
  const parts = await openAll(shares, connection.szafa.api.server, journal, signal);
  const wanted = new Map<Part, Wanted[]>();
  const batch = new Batch(out);
  for (const arg of new Set(args)) {
    try {
      for (const [part, files] of meant(parts, arg))
        wanted.set(part, [...(wanted.get(part) ?? []), ...files]);
    } catch (error) {
      batch.fail(error, arg);
    }
  }
  if (batch.failed > 0) return batch.finish();
  const chosen = [...wanted].map(([part, files]) => {
    const once = new Map(files.map((one) => [one.file.number, one]));
    return { ...part, files: [...once.values()] };
  });
  const count = chosen.reduce((sum, { files }) => sum + files.length, 0);
  const paths = new Set(chosen.flatMap(({ files }) => files.map(({ file }) => file.name)));
  const single = count === 1 && args.length === 1 && paths.has(typedPath(args[0]!));
  const notes = chosen.flatMap(({ opened, files }) => (files.length > 0 && opened.note ? [opened.note] : []));
  for (const note of notes) out.note('says', oneLine(note), { note });
  await fetchParts(
    invocation,
    chosen.filter(({ files }) => files.length > 0),
    { journal, began, single, toStdout },
  );
}
