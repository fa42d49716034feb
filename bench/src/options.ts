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
  --quick           one round of small amounts, only to see that everything runs
  --json            print the results as JSON
  --list            print the names of the cells`;

export interface Options {
  only: string[];
  peers: PeerName[];
  rounds: number;
  folder: string;
  quick: boolean;
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
        quick: { type: 'boolean' },
        json: { type: 'boolean' },
        list: { type: 'boolean' },
      },
    });
  } catch (cause) {
    throw new UsageError((cause as Error).message, { cause });
  }
}

function names(list: string | undefined): string[] {
  return (list ?? '').split(',').filter((name) => name !== '');
}
