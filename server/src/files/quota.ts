/** "remain_bytes is quota minus used, never below 0. percent is used*100/quota rounded to one decimal, or 0 when the quota is 0" */
export function quotaOf(used: bigint, quota: number) {
  const remain = BigInt(quota) - used;
  return {
    used_bytes: used,
    quota_bytes: quota,
    remain_bytes: remain < 0n ? 0n : remain,
    percent: quota === 0 ? 0 : Math.round((Number(used) * 1000) / quota) / 10,
  };
}
