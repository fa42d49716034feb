import { spawnSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { S3Client } from '../../server/src/platform/s3/client.ts';
import { parseS3Location } from '../../server/src/platform/s3/location.ts';
import { Daemon, freePort, runAs } from './daemon.ts';

const START_MS = 180_000;
const PACKAGES = ['ceph-mon', 'ceph-osd', 'radosgw'];

/** A real S3 store for a test: Ceph with one monitor, one OSD and one gateway, in its own folder. */
export class Ceph {
  readonly credentials = {
    accessKeyId: randomBytes(10).toString('hex'),
    secretAccessKey: randomBytes(20).toString('hex'),
  };
  readonly bucket = 'szafa-test';
  readonly #folder: string;
  readonly #monitorPort: number;
  readonly #host: string;
  readonly port: number;
  #monitor: Daemon | undefined;
  #osd: Daemon | undefined;
  #gateway: Daemon | undefined;

  private constructor(folder: string, monitorPort: number, host: string, port: number) {
    this.#folder = folder;
    this.#monitorPort = monitorPort;
    this.#host = host;
    this.port = port;
  }

  /** Starts Ceph. Only the gateway listens on `host`; everything else uses loopback. */
  static async start(host = '127.0.0.1'): Promise<Ceph> {
    install();
    // A short name, because the length of socket paths is limited.
    const folder = await mkdtemp(join(tmpdir(), 'sz-s3-'));
    const ceph = new Ceph(folder, await freePort(), host, await freePort());
    try {
      await ceph.#create();
    } catch (error) {
      await ceph.stop();
      throw error;
    }
    return ceph;
  }

  /** Returns the value of SZ_VOLUMES for a prefix. */
  url(prefix: string): string {
    return `s3://${this.bucket}/${prefix}?endpoint=${encodeURIComponent(`http://${this.#host}:${this.port}`)}`;
  }

  /** Credentials for the environment of a service. */
  get environment(): Record<string, string> {
    const { accessKeyId, secretAccessKey } = this.credentials;
    return { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
  }

  client(prefix: string): S3Client {
    return new S3Client(parseS3Location(this.url(prefix)), this.credentials);
  }

  async killGateway(): Promise<void> {
    await this.#gateway!.kill();
  }

  async startGateway(): Promise<void> {
    this.#gateway = this.#daemon('radosgw', '--name', 'client.rgw', '-f');
    await until('the gateway listens', () => reachable(this.#host, this.port));
  }

  /** Makes the gateway accept requests without answering. */
  pauseGateway(): void {
    this.#gateway!.signal('SIGSTOP');
  }

  resumeGateway(): void {
    this.#gateway!.signal('SIGCONT');
  }

  async killOsd(): Promise<void> {
    await this.#osd!.kill();
  }

  async startOsd(): Promise<void> {
    this.#osd = this.#daemon('ceph-osd', '-i', '0', '-f');
    await until('the OSD is up', async () =>
      /1 up/.test(this.#tool('ceph', '--connect-timeout', '20', 'osd', 'stat')),
    );
  }

  async stop(): Promise<void> {
    await Promise.all([this.#gateway?.kill(), this.#osd?.kill(), this.#monitor?.kill()]);
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #create(): Promise<void> {
    const [fsid, osdId] = [randomUUID(), randomUUID()];
    const at = (name: string) => join(this.#folder, name);
    for (const name of ['run', 'crash', 'mon', 'osd']) await mkdir(at(name));
    await writeFile(at('conf'), this.#configuration(fsid));
    const monitor = `[v2:127.0.0.1:${this.#monitorPort}]`;
    runAs(undefined, [
      'monmaptool',
      '--create',
      '--clobber',
      '--fsid',
      fsid,
      '--addv',
      'a',
      monitor,
      at('monmap'),
    ]);
    this.#tool('ceph-mon', '-i', 'a', '--mkfs', '--monmap', at('monmap'));
    this.#monitor = this.#daemon('ceph-mon', '-i', 'a', '-f');
    this.#tool('ceph', '--connect-timeout', '20', 'osd', 'new', osdId);
    this.#tool('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', osdId);
    await this.startOsd();
    const { accessKeyId, secretAccessKey } = this.credentials;
    const keys = [`--access-key=${accessKeyId}`, `--secret-key=${secretAccessKey}`];
    this.#tool(
      'radosgw-admin',
      '--name',
      'client.rgw',
      'user',
      'create',
      '--uid=test',
      '--display-name=test',
      ...keys,
    );
    await this.startGateway();
    const client = this.client('');
    await client.call({ method: 'PUT' });
    client.close();
  }

  #tool(program: string, ...args: string[]): string {
    return runAs(undefined, [program, '-c', join(this.#folder, 'conf'), ...args]);
  }

  #daemon(program: string, ...args: string[]): Daemon {
    const log = join(this.#folder, `${program}.out`);
    return new Daemon([program, '-c', join(this.#folder, 'conf'), ...args], { log });
  }

  #configuration(fsid: string): string {
    const d = this.#folder;
    return `[global]
fsid = ${fsid}
mon_host = [v2:127.0.0.1:${this.#monitorPort}]
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
ms_mon_client_mode = crc
ms_bind_msgr1 = false
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
run_dir = ${d}/run
admin_socket = ${d}/run/$name.asok
pid_file = ${d}/run/$name.pid
log_file = ${d}/$name.log
crash_dir = ${d}/crash
keyring = /dev/null
paxos_propose_interval = 0.05
paxos_min_wait = 0.01
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 8
osd_pool_default_pgp_num = 8
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_allow_pool_size_one = true
mon_warn_on_pool_no_redundancy = false
mon_max_pg_per_osd = 1000
[mon]
mon_data = ${d}/mon
mon_data_avail_crit = 1
mon_data_avail_warn = 2
mon_cluster_log_file = ${d}/cluster.log
[osd]
osd_data = ${d}/osd
osd_objectstore = bluestore
bluestore_block_size = 21474836480
osd_memory_target = 1073741824
bdev_aio_poll_ms = 10
osd_op_num_shards = 2
osd_op_num_threads_per_shard = 2
bluestore_fsck_on_mkfs = false
[client.rgw]
rgw_frontends = beast endpoint=${this.#host}:${this.port} tcp_nodelay=1
rgw_thread_pool_size = 64
objecter_tick_interval = 0.5
objecter_timeout = 1
rgw_override_bucket_index_max_shards = 1
rgw_dynamic_resharding = false
rgw_gc_obj_min_wait = 1
rgw_gc_processor_period = 5
`;
  }
}

/** Installs the Debian packages if they are missing. */
function install(): void {
  if (['ceph-mon', 'ceph-osd', 'radosgw'].every((name) => existsSync(`/usr/bin/${name}`))) return;
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const flags = ['-o', 'DPkg::Lock::Timeout=120', 'install', '-y', '--no-install-recommends'];
  for (const args of [['update'], [...flags, ...PACKAGES]])
    spawnSync('apt-get', args, { env, stdio: 'ignore' });
  if (!existsSync('/usr/bin/radosgw')) throw new Error(`needs ${PACKAGES.join(', ')}: apt-get install them`);
}

async function reachable(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

async function until(what: string, check: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + START_MS; !(await check()); await sleep(50)) {
    if (Date.now() > end) throw new Error(`${what}: not within ${START_MS} ms`);
  }
}
