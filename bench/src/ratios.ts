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

/** Rounds in which the peer did what was asked. */
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

/** Of the largest process, of the second largest and so on. */
export function medianPeaks(result: VolumeResult, peer: PeerName, flow: 'put' | 'get'): number[] {
  const rounds = goodRounds(result, peer).map((round) => round[flow].peakBytes);
  return (rounds[0] ?? []).map((_, rank) => median(rounds.map((peaks) => peaks[rank] ?? 0)));
}

/**
 * szafa / peer: the median of the ratios within each round. Both ran one after the other there, so what else
 * slowed the machine down slowed both. Undefined when there is no round in which both worked.
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
