import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Daemon, freePort } from '../engines/daemon.ts';
import { eventually, Service, send } from '../harness/index.ts';

const CONFIGURATION = new URL('../../deploy/nginx.conf', import.meta.url);
const CERTIFICATE = fileURLToPath(new URL('../cross/certificates/self-signed.pem', import.meta.url));

const nginx = ['/usr/sbin/nginx', '/usr/bin/nginx'].find((place) => existsSync(place));

/** nginx with the configuration of the reference deployment before these nodes, which is what a client calls. */
export class Nginx extends Service {
  readonly #folder: string;
  #daemon: Daemon | undefined;
  #url = '';

  private constructor(folder: string) {
    super();
    this.#folder = folder;
  }

  static async create(nodes: Service[]): Promise<Nginx> {
    return new Nginx(await mkdtemp(join(tmpdir(), 'szafa-nginx-'))).#serve(nodes);
  }

  override get url(): string {
    return this.#url;
  }

  async #serve(nodes: Service[]): Promise<this> {
    const port = await freePort();
    this.#url = `http://127.0.0.1:${port}`;
    let text = await readFile(CONFIGURATION, 'utf8');
    const replace = (from: string, to: string) => {
      if (!text.includes(from)) throw new Error(`deploy/nginx.conf has no ${from}`);
      text = text.replace(from, to);
    };
    replace('server node-a:8080', `server ${new URL(nodes[0]!.url).host}`);
    replace('server node-b:8080', `server ${new URL(nodes[1]!.url).host}`);
    replace('certificates/fullchain.pem', CERTIFICATE);
    replace('certificates/privkey.pem', CERTIFICATE);
    await this.#check(text);
    // The tests' client knows no TLS.
    replace('listen 443 ssl', `listen 127.0.0.1:${port}`);
    await this.#check(text);
    this.#daemon = new Daemon([...(await this.#command(text)), '-g', `daemon off; ${this.#places}`], {
      log: join(this.#folder, 'log'),
    });
    await eventually(async () => void (await send(this.url, { path: '/healthz' })));
    return this;
  }

  get #places(): string {
    return `pid ${this.#folder}/pid; error_log ${this.#folder}/errors warn;`;
  }

  async #command(text: string): Promise<string[]> {
    const file = join(this.#folder, 'nginx.conf');
    await writeFile(file, text);
    if (!nginx) throw new Error('nginx is missing: apt-get install nginx-light');
    return [nginx, '-p', this.#folder, '-e', 'stderr', '-c', file];
  }

  async #check(text: string): Promise<void> {
    const [program = '', ...args] = [...(await this.#command(text)), '-t', '-g', this.#places];
    const { status, stderr } = spawnSync(program, args, { encoding: 'utf8', timeout: 20_000 });
    if (status !== 0) throw new Error(`nginx -t: ${stderr}`);
  }

  override async stop(): Promise<void> {
    await this.#daemon?.kill('SIGTERM');
    await rm(this.#folder, { recursive: true, force: true });
  }
}
