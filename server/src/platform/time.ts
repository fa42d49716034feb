export const iso = (time: number) => new Date(time).toISOString();
export const isoOrNull = (time: number | null) => (time === null ? null : iso(time));

/** Sorts rows in place, newest first. */
export const newestFirst = <Row extends { created_at: number; id: string }>(rows: Row[]) =>
  rows.sort((a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1));
