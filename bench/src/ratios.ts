import type { PeerName } from './peers/peer.ts';
import type { Flow, PeerRound, PutFlow, VolumeResult } from './results.ts';
import { median } from './stats.ts';

export type Rate = 'durable' | 'answered' | 'get';

type GoodRound = { put: PutFlow; get: Flow };

function isGood(round: PeerRound | undefined): round is GoodRound {
  return round !== undefined && !('failure' in round);
}

function rateOf({ put, get }: GoodRound, rate: Rate): number {
  if (rate === 'get') return get.mbps;
  return rate === 'durable' ? put.durableMbps : put.mbps;
}

/** Returns the rounds in which the peer did not fail. */
export function goodRounds(result: VolumeResult, peer: PeerName): GoodRound[] {
  return (result.peers[peer] ?? []).filter(isGood);
}

export function failures(result: VolumeResult, peer: PeerName): string[] {
  return (result.peers[peer] ?? []).flatMap((round) => ('failure' in round ? [round.failure] : []));
}

export function medianOf(
  result: VolumeResult,
  peer: PeerName,
  value: (round: GoodRound) => number,
): number | undefined {
  const rounds = goodRounds(result, peer);
  return rounds.length === 0 ? undefined : median(rounds.map(value));
}

export function medianRate(result: VolumeResult, rate: Rate, peer: PeerName): number | undefined {
  return medianOf(result, peer, (round) => rateOf(round, rate));
}

/** Median peak memory of the largest process, the second largest, and so on. */
export function medianPeaks(result: VolumeResult, peer: PeerName, flow: 'put' | 'get'): number[] {
  const rounds = goodRounds(result, peer).map((round) => round[flow].peakBytes);
  return (rounds[0] ?? []).map((_, rank) => median(rounds.map((peaks) => peaks[rank] ?? 0)));
}

/**
 * Returns szafa / peer as the median of the ratios of each round. Both run one after the other in a round, so that other load on the
 * machine affects both. Undefined if there is no round in which both succeeded.
 */
export function ratio(result: VolumeResult, rate: Rate, peer: PeerName): number | undefined {
  const own = result.peers.szafa ?? [];
  const others = result.peers[peer] ?? [];
  const ratios = own.flatMap((mine, round) => {
    const other = others[round];
    return isGood(mine) && isGood(other) ? [rateOf(mine, rate) / rateOf(other, rate)] : [];
  });
  return ratios.length === 0 ? undefined : median(ratios);
}
