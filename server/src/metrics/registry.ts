/**
 * Our own registry: it is these few lines, its samples can be added over processes, which a cluster needs anyway, and counting a request
 * costs a look into a map; prom-client would be a dependency for the same text.
 */

/** Values by series: `name{label="value"}`. Every one of them can be added over the processes of a node. */
export type Samples = Record<string, number>;

interface Family {
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
}

const families: Record<string, Family> = {
  szafa_requests_total: { type: 'counter', help: 'Requests answered, by route and status' },
  szafa_request_seconds: {
    type: 'histogram',
    help: 'Seconds from a request to the end of its answer, by route',
  },
  szafa_volume_bytes_total: { type: 'counter', help: 'Bytes of volumes received and sent' },
  szafa_volumes_rejected_total: { type: 'counter', help: 'Volumes that the receiver rejected, by reason' },
  szafa_store_errors_total: {
    type: 'counter',
    help: 'Requests that failed because a store failed, by store',
  },
  szafa_database_connections: { type: 'gauge', help: 'Connections to PostgreSQL, by state' },
  szafa_database_waiting: { type: 'gauge', help: 'Requests waiting for a connection to PostgreSQL' },
  szafa_transfers: { type: 'gauge', help: 'Transfers that are not done, by state' },
  szafa_pulls_running: { type: 'gauge', help: 'Running pulls, on all nodes' },
  szafa_garbage_groups: { type: 'gauge', help: 'Volume groups waiting to be deleted' },
  szafa_orphans: { type: 'gauge', help: 'Volume groups that no record names' },
  szafa_orphans_removed_total: { type: 'counter', help: 'Orphans without a manifest that were deleted' },
  szafa_store_contested: {
    type: 'gauge',
    help: '1 while the volume store is contested and nothing is deleted from it',
  },
  szafa_sweep_success_timestamp_seconds: {
    type: 'gauge',
    help: 'When this node last swept; 0 while another one does',
  },
  szafa_fsck_success_timestamp_seconds: { type: 'gauge', help: 'When fsck last found nothing wrong' },
  szafa_process_cpu_seconds_total: { type: 'counter', help: 'CPU time of the processes of this node' },
  szafa_process_resident_bytes: { type: 'gauge', help: 'Memory of the processes of this node' },
};

const BOUNDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60];

export function series(name: string, labels: Record<string, string> = {}): string {
  const text = Object.entries(labels).map(([key, value]) => `${key}="${value.replace(/[\\"\n]/g, '_')}"`);
  return text.length === 0 ? name : `${name}{${text.join(',')}}`;
}

/** Answers of one kind: how long they took, by upper bound. */
interface Answers {
  route: string;
  method: string;
  status: number;
  seconds: number;
  count: number;
  within: number[];
}

/** What one process has counted. */
export class Metrics {
  /** What an alarm watches is there before it first happens: a rate over nothing is no rate. */
  readonly #samples: Samples = {
    [series('szafa_store_errors_total', { store: 'database' })]: 0,
    [series('szafa_store_errors_total', { store: 'volumes' })]: 0,
  };
  readonly #answers = new Map<string, Answers>();

  add(name: string, labels?: Record<string, string>, by = 1): void {
    const key = series(name, labels);
    this.#samples[key] = (this.#samples[key] ?? 0) + by;
  }

  /** On the way of every request, so it only adds up; texts are made when somebody asks. */
  request(route: string, method: string, status: number, ms: number): void {
    const key = `${method} ${status} ${route}`;
    let answers = this.#answers.get(key);
    if (!answers) {
      answers = { route, method, status, seconds: 0, count: 0, within: BOUNDS.map(() => 0) };
      this.#answers.set(key, answers);
    }
    answers.count++;
    answers.seconds += ms / 1000;
    for (let at = BOUNDS.length - 1; at >= 0 && ms / 1000 <= BOUNDS[at]!; at--) answers.within[at]!++;
  }

  /** The counters, with what is true at this moment. */
  snapshot(now: Samples = {}): Samples {
    const { user, system } = process.cpuUsage();
    const samples: Samples = {
      ...this.#samples,
      ...now,
      szafa_process_cpu_seconds_total: (user + system) / 1e6,
      szafa_process_resident_bytes: process.memoryUsage.rss(),
    };
    const add = (name: string, labels: Record<string, string>, by: number) => {
      const key = series(name, labels);
      samples[key] = (samples[key] ?? 0) + by;
    };
    for (const { route, method, status, seconds, count, within } of this.#answers.values()) {
      add('szafa_requests_total', { route, method, status: String(status) }, count);
      for (const [at, bound] of BOUNDS.entries()) {
        add('szafa_request_seconds_bucket', { route, method, le: String(bound) }, within[at]!);
      }
      add('szafa_request_seconds_bucket', { route, method, le: '+Inf' }, count);
      add('szafa_request_seconds_sum', { route, method }, seconds);
      add('szafa_request_seconds_count', { route, method }, count);
    }
    return samples;
  }
}

/** The sum over all processes in Prometheus' text format. */
export function render(parts: Samples[]): string {
  const sums = new Map<string, number>();
  for (const part of parts) {
    for (const [key, value] of Object.entries(part)) sums.set(key, (sums.get(key) ?? 0) + value);
  }
  const lines: string[] = [];
  for (const [name, { type, help }] of Object.entries(families)) {
    const own = new RegExp(`^${name}(_bucket|_sum|_count)?(\\{|$)`);
    const found = [...sums].filter(([key]) => own.test(key)).sort(([a], [b]) => (a < b ? -1 : 1));
    if (found.length === 0) continue;
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
    for (const [key, value] of found) lines.push(`${key} ${value}`);
  }
  return `${lines.join('\n')}\n`;
}
