import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readConfig } from '../../server/src/config.ts';
import { isShared } from '../../server/src/stores.ts';

/** What is in deploy/ and cannot be run here is at least held against the service; nginx runs, before the nodes. */
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const deployed = (name: string) => readFile(join(ROOT, 'deploy', name), 'utf8');

let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'szafa-deploy-'));
});
after(() => rm(folder, { recursive: true, force: true }));

test('systemd takes the unit', { skip: !existsSync('/usr/bin/systemd-analyze') }, async () => {
  const unit = (await deployed('szafa.service')).replaceAll('/opt/szafa/', ROOT);
  const file = join(folder, 'szafa.service');
  await writeFile(file, unit);
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
});

interface Compose {
  services: Record<
    string,
    { environment: Record<string, string>; secrets?: string[]; volumes?: string[]; depends_on?: string[] }
  >;
  secrets: Record<string, { file: string }>;
  volumes: Record<string, object>;
}

/** What the image sets. */
async function imageEnvironment(): Promise<Record<string, string>> {
  const settings = /^ENV (.*)$/m.exec(await deployed('Dockerfile'))?.[1]?.split(' ') ?? [];
  return Object.fromEntries(settings.map((setting) => setting.split('=')));
}

test('the compose file makes two nodes of one service, with what each of them names', async () => {
  const { parse } = createRequire(createRequire(import.meta.url).resolve('@fastify/swagger'))('yaml');
  const compose: Compose = parse(await deployed('compose.yaml'), { merge: true });
  for (const [name, { secrets = [], volumes = [], depends_on = [] }] of Object.entries(compose.services)) {
    for (const secret of secrets) assert.ok(compose.secrets[secret], `${name}: secret ${secret}`);
    for (const other of depends_on) assert.ok(compose.services[other], `${name} depends on ${other}`);
    for (const volume of volumes) {
      const [from = ''] = volume.split(':');
      if (!from.startsWith('.')) assert.ok(compose.volumes[from], `${name}: volume ${from}`);
    }
  }
  const contents: Record<string, string> = {
    database: 'postgres://szafa:secret@postgres/szafa',
    'system-token': 'a-system-token-of-some-length',
    's3-key-id': 'key',
    's3-secret': 'secret',
  };
  for (const name of ['node-a', 'node-b']) {
    const { environment, secrets = [] } = compose.services[name]!;
    assert.deepEqual(secrets.toSorted(), Object.keys(contents).sort());
    for (const secret of secrets) await writeFile(join(folder, secret), contents[secret]!);
    const here = Object.entries(environment).map(([key, value]) => [
      key,
      value.startsWith('/run/secrets/') ? join(folder, basename(value)) : value,
    ]);
    const store = { SZ_VOLUMES: 's3://bucket/prefix?endpoint=https://s3.example&region=name' };
    const config = readConfig({ ...(await imageEnvironment()), ...Object.fromEntries(here), ...store });
    assert.ok(isShared(config));
    assert.match(await deployed('nodes.conf'), new RegExp(`server ${name}:${config.port} `));
  }
});

test('nginx in containers has the same nodes as elsewhere, and asks for their addresses anew', async () => {
  const lines = (text: string) => text.split('\n').filter((line) => !/^\s*#/.test(line));
  const [resolver, ...compose] = lines(await deployed('nodes.compose.conf'));
  assert.match(resolver!, /^resolver 127\.0\.0\.11 valid=\d+s/);
  const plain = lines(await deployed('nodes.conf'));
  assert.deepEqual(
    compose,
    plain.map((line) => line.replace(/server node-[ab]:8080/, '$& resolve')),
  );
  // `resolve` is in nginx from 1.27.3 on.
  assert.match(await deployed('compose.yaml'), /image: nginx:1\.(2[89]|[3-9]\d)$/m);
  assert.match(await deployed('compose.yaml'), /\.\/nodes\.compose\.conf:\/etc\/nginx\/nodes\.conf:ro/);
});

test('unit and image start the launcher, with settings that the service knows', async () => {
  const launcher = '/opt/szafa/server/bin/szafa-server';
  assert.match(await deployed('szafa.service'), new RegExp(`^ExecStart=${launcher}$`, 'm'));
  const dockerfile = await deployed('Dockerfile');
  assert.match(dockerfile, new RegExp(`ln -s ${launcher} /usr/local/bin/szafa-server `));
  assert.match(dockerfile, /^CMD \["szafa-server"\]$/m);
  assert.match(dockerfile, /^HEALTHCHECK .*CMD \["szafa-server", "ready"\]$/m);
  const config = readConfig(await imageEnvironment());
  assert.match(dockerfile, new RegExp(`^EXPOSE ${config.port}$`, 'm'));
  assert.match(dockerfile, new RegExp(`^VOLUME ${config.dataFolder}$`, 'm'));
});
