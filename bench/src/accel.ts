/** Formats and judges the results of the accel cell. */
import type { AccelResult, Goal } from './results.ts';
import { median } from './stats.ts';

const LEAST_RATIO = 0.9;
const MOST_CPU = 0.05;

function figures({ rounds }: AccelResult): { ratio: number; cpu: number; nginx: number; ours: number } {
  return {
    ratio: median(rounds.map(({ mbps, nginxMbps }) => mbps / nginxMbps)),
    cpu: median(rounds.map(({ nodeCpuPerGb }) => nodeCpuPerGb)),
    nginx: median(rounds.map(({ nginxMbps }) => nginxMbps)),
    ours: median(rounds.map(({ mbps }) => mbps)),
  };
}

export function accelRow(result: AccelResult): string[] {
  const { ratio, cpu, nginx, ours } = figures(result);
  const label = `${result.bytes / 2 ** 20} MiB x ${result.connections}`;
  return [label, ratio.toFixed(2), ours.toFixed(0), nginx.toFixed(0), cpu.toFixed(3)];
}

export function judgeAccel([result]: AccelResult[]): Goal[] {
  const speed = `GET 8 MiB, 8 connections, sent by nginx (SZ_ACCEL): at least ${LEAST_RATIO} of nginx alone`;
  const cost = `the same: less than ${MOST_CPU} CPU seconds a GB in the node`;
  if (!result) return [speed, cost].map((text) => ({ text, verdict: 'not measured', detail: '' }));
  const { ratio, cpu } = figures(result);
  const verdict = (passed: boolean) => (passed ? 'pass' : 'FAIL');
  return [
    { text: speed, verdict: verdict(ratio >= LEAST_RATIO), detail: ratio.toFixed(2) },
    { text: cost, verdict: verdict(cpu < MOST_CPU), detail: cpu.toFixed(3) },
  ];
}
