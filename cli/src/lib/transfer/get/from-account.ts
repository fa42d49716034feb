/** get --from and cat --from. All shares of an account form one tree; if several contain a path, the newest share is used. */
import { LinkOverError, parentOf, type ReceivedShare } from '@szafa/client/node';
import type { Invocation } from '../../../command.ts';
import { CliError } from '../../../errors.ts';
import { checkExclusive } from '../../../options.ts';
import { type AccountInvocation, withAccount } from '../../account/connection.ts';
import { ID_COLUMNS } from '../../print/tables.ts';
import { oneLine, shownName, typedPath } from '../../print/text.ts';
import { fixedPart, isPattern, pathMatcher } from '../../select/glob.ts';
import { maxTransfers } from '../run.ts';
import { fetchParts, loadTicket, type SharedFile, type SharePart } from './shared.ts';

/** Returns the trusted shares of one account and notes the others. */
export function trustedShares(
  shares: readonly ReceivedShare[],
  from: string,
  { out }: Invocation,
): ReceivedShare[] {
  const theirs = shares.filter((share) => share.from === from);
  const good = theirs.filter(({ problem }) => !problem);
  const problems = theirs.flatMap(({ problem }) => problem ?? []);
  // With changed keys even the other shares must not be opened.
  const changed = problems.find(({ code }) => code === 'contact-changed');
  if (changed) throw changed;
  if (problems[0] && good.length === 0) throw problems[0];
  for (const { id, problem } of theirs) {
    if (problem) out.note('not-trusted', `ignoring the share ${id}: ${oneLine(problem.message)}`, { id });
  }
  if (good.length > 0) return good;
  throw new CliError('no-share', `${oneLine(from)} shares nothing with you`, 'szafa shared shows who does');
}

/** Whether an argument names this path, or a folder above it. */
export function isNamed(name: string, wanted: string): boolean {
  const whole = wanted.replace(/(^|\/)\*\*$/, '');
  if (whole === '' || name === whole || name.startsWith(`${whole}/`)) return true;
  return isPattern(whole) && pathMatcher(whole)(name.replace(/\/$/, '')) !== undefined;
}

/** Finds the files of an argument: a share by its ID, or files and folders by path. */
function findFiles(parts: readonly SharePart[], text: string): [SharePart, SharedFile[]][] {
  const byId = text.length >= ID_COLUMNS ? parts.filter(({ opened }) => opened.id.startsWith(text)) : [];
  if (byId.length === 1) return [[byId[0]!, byId[0]!.files]];
  const path = typedPath(text);
  const base = isPattern(path) ? fixedPart(path) : parentOf(path);
  const seen = new Set<string>();
  const found = parts.map((part): [SharePart, SharedFile[]] => {
    const files = part.files.filter(({ name }) => isNamed(name, path) && !seen.has(name));
    for (const { name } of files) seen.add(name);
    const from = base === '' ? 0 : base.length + 1;
    return [part, files.map((file) => ({ ...file, below: file.name.slice(from) }))];
  });
  if (seen.size > 0) return found;
  const hint = 'szafa shared ID shows what is in a share';
  throw new CliError('no-file', `${shownName(text)} is not shared with you`, hint);
}

/** Opens the shares and skips those that have ended. Throws only if all have ended. */
async function openAll(account: AccountInvocation, shares: readonly ReceivedShare[]): Promise<SharePart[]> {
  const { signal, szafa } = account;
  const parts: SharePart[] = [];
  let over: LinkOverError | undefined;
  for (const share of shares) {
    const ticket = await loadTicket(account, szafa.api.server, share.id);
    try {
      const opened = await share.open({ ticket: ticket.text, signal });
      parts.push({ opened, ticket, files: opened.files.map((file) => ({ ...file, below: file.name })) });
    } catch (error) {
      if (!(error instanceof LinkOverError)) throw error;
      over = error;
    }
  }
  if (parts.length === 0 && over) throw over;
  return parts;
}

const check = ({ flags }: Invocation) => checkExclusive(flags, 'checksum', 'from');

export const getShared = withAccount(
  { keys: 'needed', check, transfers: maxTransfers },
  async (invocation) => {
    const { args, flags, out, batch, signal, szafa } = invocation;
    const shares = trustedShares(await szafa.sharedWithMe({ signal }), flags.from!, invocation);
    const parts = await openAll(invocation, shares);
    const wanted = new Map<SharePart, Map<number, SharedFile>>();
    for (const arg of new Set(args)) {
      try {
        for (const [part, files] of findFiles(parts, arg)) {
          const known = wanted.get(part) ?? new Map();
          for (const one of files) known.set(one.number, one);
          if (known.size > 0) wanted.set(part, known);
        }
      } catch (error) {
        batch.fail(error, arg);
      }
    }
    if (batch.failed > 0) return;
    const chosen = [...wanted].map(([part, files]) => ({ ...part, files: [...files.values()] }));
    const files = chosen.flatMap((part) => part.files);
    const single = files.length === 1 && args.length === 1 && files[0]!.name === typedPath(args[0]!);
    for (const { opened } of chosen) {
      if (opened.note) out.note('says', oneLine(opened.note), { note: opened.note });
    }
    await fetchParts(invocation, chosen, single);
  },
);
