/** What others install: the packages as `npm pack` makes them, in an empty project, with an empty cache and no registry. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { npmPack } from '../../scripts/npm-pack.ts';
import { assertBytes } from '../harness/bytes.ts';
import { freshName, useService } from '../harness/index.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const service = useService();

function run(program: string, args: string[], cwd: string, env: Record<string, string> = {}): string {
  const { status, stdout, stderr } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
  assert.equal(status, 0, `${program} ${args.join(' ')}: ${stdout}${stderr}`);
  return stdout;
}

/** A program of somebody who read client/README.md. */
const PROGRAM = `
import { type Entry, readVolumeHeaders, SzafaError, type UploadProgress } from '@szafa/client';
import { type Bytes, openHeader, parseHeader } from '@szafa/client/format';
import { bytesSource, nodeEngine, nodeTransport, Szafa } from '@szafa/client/node';
import { weaknessOf } from '@szafa/client/strength';

const [server = '', username = '', password = ''] = process.argv.slice(2);
if ((await weaknessOf(password, [username])) !== undefined) throw new Error('weak');
const engine = nodeEngine();
const transport = nodeTransport();
const szafa = await Szafa.register({ server, engine, transport }, { username, password });
// Large enough for the threads of the engine.
const bytes = new Uint8Array(3_000_000).map((_, i) => i % 251);
let last: UploadProgress | undefined;
const { fileId, volumes } = await szafa.upload(bytesSource(bytes), {
  path: 'from the package',
  volumeSize: 1024 * 1024,
  onProgress: (progress) => (last = progress),
});
const entry: Entry | undefined = (await szafa.list()).find((one) => one.fileId === fileId);
const remote = await szafa.openFile(fileId, { record: entry?.record });
const back = new Uint8Array(await new Response(remote.stream()).arrayBuffer());
const { encParams } = await readVolumeHeaders(szafa.api, fileId, 1);
const id: Bytes = parseHeader(encParams).fileId;
const refused = await szafa.openFile('none').catch((error: unknown) => error instanceof SzafaError);
console.log(
  JSON.stringify({
    name: entry?.name,
    verified: entry?.verified,
    volumes,
    last,
    same: back.length === bytes.length && back.every((byte, i) => byte === bytes[i]),
    id: id.length,
    opens: typeof openHeader,
    refused,
  }),
);
transport.close();
await engine.close();
`;

/** One for browsers: neither Node nor its types. */
const PAGE = `
import { blobSource, Szafa } from '@szafa/client';
import { layoutOf } from '@szafa/client/format';
export async function keep(server: string, username: string, password: string, file: File): Promise<string> {
  const szafa = await Szafa.login({ server }, { username, password });
  return (await szafa.upload(blobSource(file), { path: file.name })).fileId + layoutOf(file.size).count;
}
`;

interface Manifest {
  dependencies?: Record<string, string>;
  exports: Record<string, Record<string, string>>;
}
const manifestOf = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;

/** The packages of others that these need, as the workspace has them. */
function withDependencies(names: string[]): string[] {
  const all = new Set(names);
  for (const name of all) {
    const { dependencies = {} } = manifestOf(join(ROOT, 'node_modules', name));
    for (const one of Object.keys(dependencies)) all.add(one);
  }
  return [...all];
}

suite('packages that install', () => {
  const folder = mkdtempSync(join(tmpdir(), 'szafa-install-'));
  const project = join(folder, 'project');
  const sdk = join(project, 'node_modules/@szafa/client');
  after(() => rmSync(folder, { recursive: true, force: true }));

  before(() => {
    const ours = ['client', 'cli'].map((name) =>
      run(process.execPath, [join(ROOT, name, 'scripts/pack.ts')], ROOT).trim(),
    );
    const { dependencies = {} } = manifestOf(join(ROOT, 'client/dist/package'));
    const needed = withDependencies(Object.keys(dependencies)).map((name) =>
      join(ROOT, 'node_modules', name),
    );
    const others = npmPack(needed, folder);
    mkdirSync(project);
    writeFileSync(join(project, 'package.json'), '{ "type": "module", "private": true }');
    const apart = ['--offline', '--cache', join(folder, 'cache'), '--no-audit', '--no-fund'];
    run('npm', ['install', ...apart, ...ours, ...others], project);
  });

  /** Compiles what is in the project's folder of that name, libraries included. */
  function compile(name: string, text: string, options: Record<string, unknown>): string {
    const at = join(project, name);
    mkdirSync(at);
    writeFileSync(join(at, 'program.ts'), text);
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      ...options,
    };
    writeFileSync(join(at, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['program.ts'] }));
    run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', at], project);
    return join(at, 'program.js');
  }

  test('the SDK, compiled as Node resolves it and run by Node, uploads and downloads', () => {
    const typeRoots = [join(ROOT, 'node_modules/@types')];
    const program = compile('node', PROGRAM, {
      ...{ module: 'nodenext', target: 'esnext', lib: ['esnext'], types: ['node'], typeRoots },
    });
    const args = [program, service.url, freshName(), 'a long and quiet evening'];
    assert.deepEqual(JSON.parse(run(process.execPath, args, project)), {
      name: 'from the package',
      verified: true,
      volumes: 3,
      last: { done: 3_000_000, stored: 3_000_000, total: 3_000_000 },
      same: true,
      id: 16,
      opens: 'function',
      refused: true,
    });
  });

  test('the SDK, compiled as bundlers resolve it, needs no types of Node', () => {
    const lib = ['esnext', 'dom', 'dom.iterable', 'dom.asynciterable'];
    compile('page', PAGE, {
      module: 'esnext',
      moduleResolution: 'bundler',
      target: 'es2023',
      lib,
      types: [],
    });
  });

  test('every entry and every source that a map names is in the package', () => {
    for (const entry of Object.values(manifestOf(sdk).exports).flatMap((one) => Object.values(one))) {
      assert.ok(existsSync(join(sdk, entry)), entry);
    }
    const maps = readdirSync(sdk, { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.map'),
    );
    assert.ok(
      maps.some((file) => file.endsWith('.js.map')) && maps.some((file) => file.endsWith('.d.ts.map')),
    );
    for (const map of maps) {
      const { sources } = JSON.parse(readFileSync(join(sdk, map), 'utf8')) as { sources: string[] };
      assert.equal(sources.length, 1, map);
      assert.ok(existsSync(join(sdk, dirname(map), sources[0]!)), `${map}: ${sources[0]}`);
    }
  });

  test('the command has no dependencies, and registers, uploads and downloads', () => {
    const command = join(project, 'node_modules/@szafa/cli');
    assert.equal(manifestOf(command).dependencies, undefined);
    const files = ['LICENSE', 'README.md', 'package.json', 'szafa.1', 'szafa.cjs'];
    assert.deepEqual(readdirSync(command).sort(), files);
    const env = {
      PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`,
      ...{ SZ_CONFIG: join(folder, 'config'), SZ_SERVER: service.url, SZ_USER: freshName() },
      SZ_PASSWORD: 'a long and quiet evening',
    };
    // By the name of the package and by that of the command: what is installed here is taken, and nothing is asked for.
    const npx = (...args: string[]) => run('npx', ['--offline', ...args], project, env);
    npx('@szafa/cli', 'register');
    npx('szafa', 'put', 'package.json');
    npx('szafa', 'get', 'package.json', '--output', 'copy.json');
    assertBytes(readFileSync(join(project, 'copy.json')), readFileSync(join(project, 'package.json')));
  });
});
