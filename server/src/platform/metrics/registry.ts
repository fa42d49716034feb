/**
 * Our own registry: it is these few lines, its samples can be added over processes, which a cluster needs anyway, and counting a request
 * costs a look into a map; prom-client would be a dependency for the same text.
 */
import { type Family, families } from './families.ts';

/** Values by series: `name{label="value"}`. Every one of them can be added over the processes of a node. */
export type Samples = Record<string, number>;

const BOUNDS = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60];

export function series(name: string, labels: Record<string, string> = {}): string {
  const text = Object.entries(labels).map(([key, value]) => `${key}="${value.replace(/[\\"\n]/g, '_')}"`);
  return text.length === 0 ? name : `${name}{${text.join(',')}}`;
}

/** How often something happened, and how often within each of the bounds. */
class Times {
  seconds = 0;
  count = 0;
  readonly #within = BOUNDS.map(() => 0);

  note(seconds: number): void {
    this.count++;
    this.seconds += seconds;
    for (let at = BOUNDS.length - 1; at >= 0 && seconds <= BOUNDS[at]!; at--) this.#within[at]!++;
  }

  addTo(samples: Samples, name: string, labels: Record<string, string>): void {
    for (const [at, bound] of BOUNDS.entries()) {
      add(samples, series(`${name}_bucket`, { ...labels, le: String(bound) }), this.#within[at]!);
    }
    add(samples, series(`${name}_bucket`, { ...labels, le: '+Inf' }), this.count);
    add(samples, series(`${name}_sum`, labels), this.seconds);
    add(samples, series(`${name}_count`, labels), this.count);
  }
}

function add(samples: Samples, key: string, by: number): void {
  samples[key] = (samples[key] ?? 0) + by;
}

/** Answers of one kind. */
interface Answers {
  route: string;
  method: string;
  status: number;
  times: Times;
}

/** What one process has counted. */
export class Metrics {
  /** Requests that have begun and not ended. */
  inFlight = 0;
  readonly #samples: Samples = {};
  readonly #answers = new Map<string, Answers>();
  readonly #times = new Map<string, { name: string; labels: Record<string, string>; times: Times }>();

  constructor() {
    for (const [name, { from = [] }] of Object.entries<Family>(families)) {
      for (const labels of from) this.#samples[series(name, labels)] = 0;
    }
  }

  add(name: string, labels?: Record<string, string>, by = 1): void {
    add(this.#samples, series(name, labels), by);
  }

  /** The same for what is on the way of many requests. */
  counter(name: string, labels?: Record<string, string>): (by: number) => void {
    const key = series(name, labels);
    return (by) => add(this.#samples, key, by);
  }

  /** What takes time is shown from now on, at first with none. */
  timer(name: string, labels: Record<string, string> = {}): (seconds: number) => void {
    const key = series(name, labels);
    const { times } = this.#times.get(key) ?? { times: new Times() };
    this.#times.set(key, { name, labels, times });
    return (seconds) => times.note(seconds);
  }

  /** On the way of every request, so it only adds up; texts are made when somebody asks. */
  request(route: string, method: string, status: number, ms: number): void {
    const key = `${method} ${status} ${route}`;
    let answers = this.#answers.get(key);
    if (!answers) {
      answers = { route, method, status, times: new Times() };
      this.#answers.set(key, answers);
    }
    answers.times.note(ms / 1000);
  }

  /** The counters, with what is true at this moment. */
  snapshot(now: Samples = {}): Samples {
    const { user, system } = process.cpuUsage();
    const samples: Samples = {
      ...this.#samples,
      ...now,
      szafa_requests_in_flight: this.inFlight,
      szafa_process_cpu_seconds_total: (user + system) / 1e6,
      szafa_process_resident_bytes: process.memoryUsage.rss(),
    };
    for (const { route, method, status, times } of this.#answers.values()) {
      add(samples, series('szafa_requests_total', { route, method, status: String(status) }), times.count);
      add(samples, series('szafa_answers_total', { class: `${Math.floor(status / 100)}xx` }), times.count);
      times.addTo(samples, 'szafa_request_seconds', { route, method });
    }
    for (const { name, labels, times } of this.#times.values()) times.addTo(samples, name, labels);
    return samples;
  }
}

/** A series of a histogram has the name of its family with one of these. */
const ENDINGS = /_(bucket|sum|count)$/;

function familyOf(key: string): string {
  const [name = ''] = key.split('{', 1);
  return name in families ? name : name.replace(ENDINGS, '');
}

/** Whether it only ever grows: then a process that ends must not take it back. */
export function onlyGrows(key: string): boolean {
  const family: Family | undefined = families[familyOf(key) as keyof typeof families];
  return family !== undefined && family.type !== 'gauge';
}

/** The sum over all processes in Prometheus' text format. */
export function render(parts: Samples[]): string {
  const sums = new Map<string, Map<string, number>>();
  for (const part of parts) {
    for (const [key, value] of Object.entries(part)) {
      const name = familyOf(key);
      const own = sums.get(name) ?? new Map<string, number>();
      own.set(key, (own.get(key) ?? 0) + value);
      sums.set(name, own);
    }
  }
  const lines: string[] = [];
  for (const [name, { type, help }] of Object.entries<Family>(families)) {
    const found = [...(sums.get(name) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
    if (found.length === 0) continue;
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
    for (const [key, value] of found) lines.push(`${key} ${value}`);
  }
  return `${lines.join('\n')}\n`;
}
