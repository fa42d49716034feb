import { hostname } from 'node:os';
import type { Config } from '../config.ts';
import { Queries } from '../platform/sql/sql.ts';
import { VERSION } from '../version.ts';

/** Settings shown by operator commands. None is a secret. */
export const SHOWN_SETTINGS = {
  registration: 'SZ_REGISTRATION',
  quotaBytes: 'SZ_QUOTA',
  quotaEnforced: 'SZ_QUOTA_ENFORCE',
  shares: 'SZ_SHARES',
  origin: 'SZ_ORIGIN',
} as const;
type ShownName = keyof typeof SHOWN_SETTINGS;

/** A node that runs the server. */
export interface RunningNode {
  node: string;
  host: string;
  pid: number;
  version: string;
  startedAt: number;
  settings: Pick<Config, ShownName>;
}

/** How often a running node reports, and how long it may be silent before it counts as stopped. */
export const REPORT_MS = 20_000;
const SILENT_MS = 70_000;

/** Running nodes and their settings, for commands run in a shell that may have other settings. */
export class NodesTable extends Queries {
  async report(node: string, startedAt: number, config: Config, now = Date.now()): Promise<void> {
    const names = Object.keys(SHOWN_SETTINGS) as ShownName[];
    const settings = Object.fromEntries(names.map((name) => [name, config[name]]));
    await this.sql.execute('DELETE FROM nodes WHERE seen_at < ?', now - SILENT_MS);
    await this.sql.execute(
      `INSERT INTO nodes (node, host, pid, version, started_at, seen_at, settings) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at`,
      ...[node, hostname(), process.pid, VERSION, startedAt, now, JSON.stringify(settings)],
    );
  }

  async remove(node: string): Promise<void> {
    await this.sql.execute('DELETE FROM nodes WHERE node = ?', node);
  }

  /** Running nodes, the latest start first. */
  async list(now = Date.now()): Promise<RunningNode[]> {
    const rows = await this.sql.query<Omit<RunningNode, 'settings'> & { settings: string }>(
      `SELECT node, host, pid, version, started_at AS "startedAt", settings FROM nodes
       WHERE seen_at >= ? ORDER BY started_at DESC, node`,
      now - SILENT_MS,
    );
    return rows
      .filter(isAlive)
      .map((row) => ({ ...row, settings: JSON.parse(row.settings) as RunningNode['settings'] }));
  }
}

/** Notices a killed node on this machine at once. */
function isAlive({ host, pid }: Pick<RunningNode, 'host' | 'pid'>): boolean {
  if (host !== hostname()) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
