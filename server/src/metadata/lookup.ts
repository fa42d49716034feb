export interface SessionRow {
  username: string;
  used_at: number;
}

/** What a request asks for beside who calls; with a session it is fetched in the same query. */
export interface Lookup<T> {
  /** The system token has no session. */
  admin: () => Promise<T>;
  session: (tokenHash: string) => Promise<(SessionRow & T) | undefined>;
}
