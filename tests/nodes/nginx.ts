import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Daemon, freePort } from '../engines/daemon.ts';
import { eventually, Service, send } from '../harness/index.ts';

const DEPLOYED = new URL('../../deploy/', import.meta.url);
const CERTIFICATE = fileURLToPath(new URL('../cross/certificates/self-signed.pem', import.meta.url));

type Changes = [from: string, to: string][];

/** Files of deploy/ beside nginx.conf, under the names that nginx looks for, with these texts in the place of those. */
export type Beside = Record<string, { from: string; changes: Changes }>;

/** Volumes that lie in this data folder are sent by nginx, which runs in the group of the node. */
export const fromFolder = (data: string): Beside => ({
  'accel.conf': { from: 'accel-folder.conf', changes: [['/var/lib/szafa', data]] },
});

const nginx = ['/usr/sbin/nginx', '/usr/bin/nginx'].find((place) => existsSync(place));

/** nginx with the configuration of the reference deployment before these nodes, in their group; it is what a client calls. */
export class Nginx extends Service {
  readonly #folder: string;
  #daemon: Daemon | undefined;
  #url = '';
  #secureUrl = '';

  private constructor(folder: string) {
    super();
    this.#folder = folder;
  }

  static async create(nodes: Service[], beside: Beside = {}): Promise<Nginx> {
    return new Nginx(await mkdtemp(join(tmpdir(), 'szafa-nginx-'))).#serve(nodes, beside);
  }

  override get url(): string {
    return this.#url;
  }

  /** With TLS, and so with HTTP/2. */
  get secureUrl(): string {
    return this.#secureUrl;
  }

  /** What it has written to its two logs. */
  async logs(): Promise<{ access: string; error: string }> {
    const [access = '', error = ''] = await Promise.all(
      ['access.log', 'error.log'].map((name) => readFile(join(this.#folder, name), 'utf8')),
    );
    return { access, error };
  }

  async #serve(nodes: Service[], beside: Beside): Promise<this> {
    const port = await freePort();
    let securePort = await freePort();
    while (securePort === port) securePort = await freePort();
    this.#url = `http://127.0.0.1:${port}`;
    this.#secureUrl = `https://127.0.0.1:${securePort}`;
    const group = execFileSync('id', ['-gn'], { encoding: 'utf8' }).trim();
    const main: Changes = [
      ['user www-data;', `user www-data ${group};`],
      ['certificates/fullchain.pem', CERTIFICATE],
      ['certificates/privkey.pem', CERTIFICATE],
      ['/var/log/nginx/', `${this.#folder}/`],
      ['/run/nginx.pid', join(this.#folder, 'pid')],
      // The tests' own client knows no TLS.
      ['listen 443 ssl http2', `listen 127.0.0.1:${port}; listen 127.0.0.1:${securePort} ssl http2`],
    ];
    const command = await this.#configure({
      'nodes.conf': {
        from: 'nodes.conf',
        changes: [
          ['node-a:8080', new URL(nodes[0]!.url).host],
          ['node-b:8080', new URL(nodes[1]!.url).host],
        ],
      },
      'nginx.conf': { from: 'nginx.conf', changes: main },
      ...beside,
    });
    const [program = '', ...args] = command;
    const { status, stderr } = spawnSync(program, [...args, '-t'], { encoding: 'utf8', timeout: 20_000 });
    if (status !== 0) throw new Error(`nginx -t: ${stderr}`);
    this.#daemon = new Daemon([...command, '-g', 'daemon off;'], { log: join(this.#folder, 'log') });
    await eventually(async () => void (await send(this.url, { path: '/healthz' })));
    return this;
  }

  /** Writes the files; the command that runs them. */
  async #configure(files: Beside): Promise<string[]> {
    if (!nginx) throw new Error('nginx is missing: apt-get install nginx-light');
    for (const [name, { from: origin, changes }] of Object.entries(files)) {
      let text = await readFile(new URL(origin, DEPLOYED), 'utf8');
      for (const [from, to] of changes) {
        if (!text.includes(from)) throw new Error(`deploy/${origin} has no ${from}`);
        text = text.replaceAll(from, to);
      }
      await writeFile(join(this.#folder, name), text);
    }
    return [nginx, '-p', this.#folder, '-e', 'stderr', '-c', join(this.#folder, 'nginx.conf')];
  }

  override async stop(): Promise<void> {
    await this.#daemon?.kill('SIGTERM');
    await rm(this.#folder, { recursive: true, force: true });
  }
}
