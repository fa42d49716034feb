import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { type PeerName, peerNames } from './peers/peer.ts';

export class UsageError extends Error {
  override name = 'UsageError';
}

export const usage = `usage: npm run bench -- [options]
  --only NAME,...   cells whose name begins with one of these
  --peers NAME,...  servers that take part (${peerNames.join(', ')})
  --rounds N        rounds that the medians are taken of (5)
  --dir FOLDER      measure the filesystem of this folder (the system's temporary folder)
  --accounts N      accounts in the cell of that name (100000), and
  --files N         files of all of them together (10000000)
  --quick           one round of small amounts, only to see that everything runs
  --json            print the results as JSON
  --list            print the names of the cells`;

export interface Options {
  only: string[];
  peers: PeerName[];
  rounds: number;
  folder: string;
  quick: boolean;
  sizes: { accounts: number; files: number };
  json: boolean;
  list: boolean;
}

export function readOptions(args: string[]): Options {
  const { values } = parse(args);
  const rounds = Number(values.rounds ?? (values.quick ? 1 : 5));
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 1000)
    throw new UsageError('--rounds must be 1 to 1000');
  const wanted = names(values.peers);
  const peers = peerNames.filter((name) => wanted.length === 0 || wanted.includes(name));
  const unknown = wanted.find((name) => !peers.includes(name as PeerName));
  if (unknown !== undefined) throw new UsageError(`there is no server named ${unknown}`);
  return {
    only: names(values.only),
    peers,
    rounds,
    folder: values.dir ?? tmpdir(),
    quick: values.quick ?? false,
    sizes: {
      accounts: count('accounts', values.accounts ?? (values.quick ? '20' : '100000')),
      files: count('files', values.files ?? (values.quick ? '400' : '10000000')),
    },
    json: values.json ?? false,
    list: values.list ?? false,
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        only: { type: 'string' },
        peers: { type: 'string' },
        rounds: { type: 'string' },
        dir: { type: 'string' },
        accounts: { type: 'string' },
        files: { type: 'string' },
        quick: { type: 'boolean' },
        json: { type: 'boolean' },
        list: { type: 'boolean' },
      },
    });
  } catch (cause) {
    throw new UsageError((cause as Error).message, { cause });
  }
}

function count(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new UsageError(`--${name} must be a whole number from 1 on`);
  return value;
}

function names(list: string | undefined): string[] {
  return (list ?? '').split(',').filter((name) => name !== '');
}
