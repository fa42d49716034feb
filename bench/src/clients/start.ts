import { execFileSync } from 'node:child_process';
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Daemon, freePort } from '../daemon.ts';
import { findProgram } from '../machine.ts';
import { startNginx } from '../peers/nginx.ts';
import { startRclone } from '../peers/rclone.ts';
import { Szafa } from '../peers/szafa.ts';
import { type Client, type ClientName, quoted } from './client.ts';

const szafaCommand = fileURLToPath(new URL('../../../cli/bin/szafa.mjs', import.meta.url));
const PASSWORD = 'a password for the bench';

/** Debian packages of the programs compared with. */
export const clientPackages: Record<string, string> = {
  nginx: 'nginx-light',
  rclone: 'rclone',
  restic: 'restic',
  age: 'age',
  curl: 'curl',
};

export function missingClientPackages(): string[] {
  return Object.entries(clientPackages).flatMap(([program, debian]) =>
    findProgram(program) ? [] : [debian],
  );
}

/** Starts every client with its own server. All use the same filesystem. */
export async function startClients(folder: string): Promise<Client[]> {
  const start: Record<ClientName, (folder: string) => Promise<Client>> = {
    szafa: startSzafa,
    restic: startRestic,
    'rclone crypt': startRcloneCrypt,
    'age + curl': startAge,
    curl: startCurl,
  };
  const clients: Client[] = [];
  for (const [name, begin] of Object.entries(start)) {
    const own = join(folder, name.replaceAll(/\W+/g, '-'));
    await mkdir(own, { recursive: true });
    clients.push(await begin(own));
  }
  return clients;
}

export interface SzafaClient extends Client {
  /** Returns the command that prints a link to a file as JSON. */
  share(path: string): string;
  downLink(link: string, target: string): string;
}

export async function startSzafa(folder: string): Promise<SzafaClient> {
  const server = await Szafa.start(join(folder, 'server'));
  const node = quoted(process.execPath);
  const env = {
    ...process.env,
    SZ_SERVER: `http://127.0.0.1:${server.port}`,
    SZ_USER: 'benchclient',
    SZ_PASSWORD: PASSWORD,
    SZ_CONFIG: join(folder, 'config'),
  };
  execFileSync(process.execPath, [szafaCommand, 'register', '--quiet'], { env });
  const szafa = `${node} ${quoted(szafaCommand)}`;
  return {
    name: 'szafa',
    env,
    up: (source, label) => `${szafa} put ${quoted(source)} --dir ${label} --quiet`,
    down: (label, target) => `${szafa} get ${quoted(`${label}/*`)} --output ${quoted(target)} --quiet`,
    share: (path) => `${szafa} share ${quoted(path)} --json`,
    downLink: (link, target) => `${szafa} get ${quoted(link)} --output ${quoted(target)} --quiet`,
    stop: () => server.daemon.stop(),
  };
}

async function startRestic(folder: string): Promise<Client> {
  const server = await startRclone(findProgram('rclone')!, join(folder, 'server'));
  const env = {
    ...process.env,
    RESTIC_PASSWORD: PASSWORD,
    RESTIC_REPOSITORY: `rest:http://127.0.0.1:${server.port}/`,
    RESTIC_CACHE_DIR: join(folder, 'cache'),
  };
  execFileSync(findProgram('restic')!, ['init', '--quiet'], { env });
  return {
    name: 'restic',
    env,
    // --force reads all files again, so that every round is like a first upload.
    up: (source, label) => `restic backup --quiet --force --tag ${label} ${quoted(source)}`,
    down: (label, target) => `restic restore --quiet --tag ${label} --target ${quoted(target)} latest`,
    stop: () => server.daemon.stop(),
  };
}

async function startRcloneCrypt(folder: string): Promise<Client> {
  const rclone = findProgram('rclone')!;
  const data = join(folder, 'data');
  await mkdir(data);
  const port = await freePort();
  const env: NodeJS.ProcessEnv = { ...process.env, RCLONE_CONFIG: join(folder, 'rclone.conf') };
  const daemon = new Daemon(
    'rclone webdav',
    [rclone, 'serve', 'webdav', '--addr', `127.0.0.1:${port}`, data],
    join(folder, 'output'),
    env,
  );
  await daemon.listening(port);
  const secret = execFileSync(rclone, ['obscure', PASSWORD], { encoding: 'utf8', env }).trim();
  await writeFile(
    env['RCLONE_CONFIG']!,
    `[dav]\ntype = webdav\nurl = http://127.0.0.1:${port}\nvendor = other\n[sealed]\ntype = crypt\nremote = dav:\npassword = ${secret}\n`,
  );
  return {
    name: 'rclone crypt',
    env,
    up: (source, label) => `rclone copy --quiet ${quoted(source)} sealed:${label}`,
    down: (label, target) => `rclone copy --quiet sealed:${label} ${quoted(target)}`,
    stop: () => daemon.stop(),
  };
}

async function startAge(folder: string): Promise<Client> {
  const server = await startNginx(findProgram('nginx')!, join(folder, 'server'));
  const url = `http://127.0.0.1:${server.port}`;
  const key = join(folder, 'key');
  execFileSync('age-keygen', ['-o', key], { stdio: 'ignore' });
  const recipient = execFileSync('age-keygen', ['-y', key], { encoding: 'utf8' }).trim();
  const each = (source: string, command: string) =>
    `find ${quoted(source)} -type f -printf '%f\\n' | xargs -P 4 -I{} sh -c ${quoted(command)}`;
  return {
    name: 'age + curl',
    env: process.env,
    up: (source, label) =>
      each(source, `age -r ${recipient} ${source}/{} | curl -sf -T - ${url}/${label}-{}`),
    down: (label, target, source) =>
      each(source, `curl -sf ${url}/${label}-{} | age -d -i ${key} > ${target}/{}`),
    stop: () => server.daemon.stop(),
  };
}

async function startCurl(folder: string): Promise<Client> {
  const server = await startNginx(findProgram('nginx')!, join(folder, 'server'));
  const url = `http://127.0.0.1:${server.port}`;
  /** Runs one curl for all files, with the list of transfers as its configuration. */
  const list = (line: string, source: string) =>
    `find ${quoted(source)} -type f -printf ${quoted(line)} | curl -sf -Z --parallel-max 8 --config -`;
  return {
    name: 'curl',
    env: process.env,
    up: (source, label) => list(`upload-file = "%p"\\nurl = "${url}/${label}-%f"\\n`, source),
    down: (label, target, source) => list(`output = "${target}/%f"\\nurl = "${url}/${label}-%f"\\n`, source),
    stop: () => server.daemon.stop(),
  };
}

/** Counts the files and bytes below a folder. Clients create different subfolders. */
export async function contentOf(folder: string): Promise<{ files: number; bytes: number }> {
  const content = { files: 0, bytes: 0 };
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    content.files++;
    content.bytes += (await stat(join(entry.parentPath, entry.name))).size;
  }
  return content;
}

export const labelOf = (round: number, source: string) => `r${round}-${basename(source)}`;
