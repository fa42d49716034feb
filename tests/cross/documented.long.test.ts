/** Runs every example in docs/cli.md. The reference there comes from the command table, so this runs the examples of `--help` too. */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freshName, useService } from '../harness/index.ts';
import { PASSWORD, registered } from './account.ts';
import type { Device } from './device.ts';
import { quickCommand } from './packed.ts';

const service = useService();
const execute = promisify(execFile);
const DOCS = fileURLToPath(new URL('../../docs/cli.md', import.meta.url));
const PASSPHRASE = 'rower chmura zamek lampa';

/** Each needs a terminal, an invitation, or a transfer that was cut off; the test named here runs it. */
const ELSEWHERE: Record<string, string> = {
  'szafa factor totp on': 'factor.test.ts',
  'SZ_CODE=123456 szafa factor totp off': 'factor.test.ts',
  'szafa recovery': 'keys.test.ts',
  'szafa register ewa --invite': 'invitations.test.ts',
  'szafa recover ewa --server https://szafa.example': 'keys.test.ts',
  'szafa transfers cancel film.mkv': 'resume.test.ts',
};

const LOCAL = [
  ...['photos/2026/a.jpg', 'photos/2019/b.jpg', 'photos/DSC001.jpg', 'film.mkv', 'a.jpg', 'b.jpg'],
  ...['draft.txt', 'secret.txt', 'thesis.odt', 'notes/todo.txt', 'papers/p.pdf', 'a.pdf', 'b.pdf'],
  ...['src/main.c', 'src.tar', 'essay.odt', 'invoice.pdf', 'old.tmp'],
];

/** The examples of each section: one list for each block of shell commands. */
function sections(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  let title = '';
  for (const part of readFileSync(DOCS, 'utf8').split(/^(?=#+ |```)/m)) {
    const [first = '', ...lines] = part.split('\n');
    if (first.startsWith('#')) title = first.replace(/^#+ /, '');
    if (first !== '```sh') continue;
    const examples = lines.map((line) => line.replace(/ +# .*/, '')).filter((line) => line !== '');
    found.set(title, [...(found.get(title) ?? []), ...examples]);
  }
  return found;
}

/** A person at a shell, with a new account and these files. */
class Person {
  readonly device: Device;
  readonly folder: string;

  constructor(device: Device) {
    this.device = device;
    this.folder = device.path('work');
    const bin = device.path('bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'szafa'), `#!/bin/sh\nexec '${process.execPath}' '${quickCommand()}' "$@"\n`, {
      mode: 0o755,
    });
    writeFileSync(join(bin, 'jq'), '#!/bin/sh\nexec cat\n', { mode: 0o755 });
    for (const name of ['.zfunc', '.config/fish/completions'])
      mkdirSync(device.path(name), { recursive: true });
    for (const name of LOCAL) {
      mkdirSync(dirname(join(this.folder, name)), { recursive: true });
      writeFileSync(join(this.folder, name), name);
      utimesSync(join(this.folder, name), 1e9, 1e9);
    }
    execFileSync('tar', ['cf', 'src.tar', 'src'], { cwd: this.folder });
    for (const [name, text] of Object.entries({ pw: PASSWORD, old: PASSWORD, new: `${PASSPHRASE} inna` })) {
      writeFileSync(join(this.folder, name), text);
    }
  }

  static async arrive(): Promise<Person> {
    return new Person(await registered(service, {}, quickCommand()));
  }

  get name(): string {
    return this.device.env['SZ_USER']!;
  }

  async run(line: string): Promise<string> {
    const { device } = this;
    const secrets = {
      ...{ SZ_PASSWORD: PASSWORD, SZ_NEW_PASSWORD: `${PASSWORD} staple`, SZ_NEW_PASSPHRASE: PASSPHRASE },
      ...{ SZ_LINK_PASSPHRASE: 'sesame' },
      ...(line.includes('login --passphrase') && { SZ_PASSPHRASE: PASSPHRASE }),
    };
    const PATH = `${device.path('bin')}:${process.env['PATH']}`;
    const env = { ...device.env, ...secrets, PATH };
    const shell = execute('bash', ['-c', `set -o pipefail\n${line}`], { cwd: this.folder, env });
    shell.child.stdin?.end();
    return (await shell.catch((error) => assert.fail(`${line}\n${error.stdout}${error.stderr}`))).stdout;
  }

  /** A field of the last line of this type. */
  async field(args: string, type: string, name: string): Promise<string> {
    const lines = (await this.run(`szafa ${args} --json`)).split('\n').filter((line) => line !== '');
    const found = lines.map((line) => JSON.parse(line)).findLast((line) => line.type === type);
    return String(found?.[name]);
  }
}

suite('szafa: the examples in docs/cli.md', { concurrency: 2 }, () => {
  let other: Person;
  before(async () => {
    other = await Person.arrive();
    await other.run('szafa put photos');
  });
  after(() => other.device.remove());

  /** Does what an example takes for granted. */
  async function prepare(person: Person, line: string): Promise<void> {
    const { device } = person;
    if (/szafa restore/.test(line)) await person.run('szafa rm film.mkv; szafa rm -r photos/2019 || true');
    if (line === 'szafa mkdir photos') await person.run('szafa rm -r photos');
    if (/--from alice|shared Zk/.test(line)) await other.run(`szafa share photos --with ${person.name}`);
    if (line.includes('--verify')) await person.run(`szafa contact ${other.name}`);
    if (line.includes('--key-file')) await person.run('szafa recovery --recovery-file key.txt');
    if (/login --(raw-password|passphrase)/.test(line)) {
      device.env['SZ_USER'] = freshName();
      const isRaw = line.includes('--raw-password');
      await person.run(`SZ_PASSPHRASE='${PASSPHRASE}' szafa register ${isRaw ? '--raw-password' : ''}`);
    }
    if (line.includes('--dir web1')) await person.run('szafa mkdir -p web1');
    if (line.includes('/etc/szafa')) {
      await person.run('szafa token create web --scope append --dir web1 --output web.json');
      mkdirSync(device.path('etc/szafa'), { recursive: true });
      copyFileSync(join(person.folder, 'web.json'), device.path('etc/szafa/session.json'));
    }
    if (/szafa deliveries/.test(line)) {
      const link = await person.field('request homework', 'request', 'link');
      await person.run(`szafa put essay.odt --to '${link}'`);
    }
    if (/versions restore/.test(line)) {
      writeFileSync(join(person.folder, 'thesis.odt'), String(Math.random()));
      await person.run('szafa put thesis.odt');
    }
  }

  /** Arguments that make an ID, the type of the line that tells it, and its field. */
  const IDS: [example: RegExp, args: string, type: string, field: string][] = [
    [/versions restore/, 'versions thesis.odt', 'version', 'file_id'],
    [/(sessions|token) end/, 'token create x --scope read', 'token', 'id'],
    [/deliveries --drop/, 'deliveries', 'delivery', 'file_id'],
    [/unrequest/, 'request homework', 'request', 'id'],
    [/shared Zk/, 'shared', 'shared', 'id'],
    [/shares Zk|unshare/, 'share photos', 'link', 'id'],
  ];

  /** Puts real names, links and IDs in the place of those in the text. */
  async function fill(person: Person, line: string): Promise<string> {
    const made = IDS.find(([example]) => example.test(line) && /8c1f0e6f|Zk3pQ0aB|4f1c09ab/.test(line));
    const id = made ? (await person.field(made[1], made[2], made[3])).slice(0, 8) : '';
    const request = line.includes('/r/…') ? await person.field('request homework', 'request', 'link') : '';
    const share = line.includes('/s/…') ? await other.field('share photos', 'link', 'link') : '';
    return line
      .replace(/'https:\S+\/r\/\S+'/, `'${request}'`)
      .replace(/'https:\S+\/s\/\S+'/, `'${share}' --output shared`)
      .replace('https://szafa.example', service.url)
      .replace('http://192.0.2.7:9000', 'http://127.0.0.1')
      .replace(/\bewa\b/, line.includes('register') ? freshName() : person.name)
      .replace(/\b(bob|alice)\b/, other.name)
      .replace(
        / (\/tmp|\/etc(?:\/szafa)?)\b/g,
        (_all, path: string) => ` ${person.device.path(path.slice(1))}`,
      )
      .replace(/\b(8c1f0e6f|Zk3pQ0aB|4f1c09ab)\b/, id)
      .replace(/account delete|trash empty|--drop/, '$& --yes');
  }

  for (const [title, examples] of sections()) {
    const own = examples.filter((line) => !(line in ELSEWHERE));
    if (own.length === 0) continue;
    test(title, async () => {
      // Examples about an account change it: each gets one of its own.
      const isAccount = /^szafa (register|login|passwd|rec|rekey|account|logout|sessions|token)/.test(title);
      let person: Person | undefined;
      for (const line of own) {
        if (isAccount || !person) {
          await person?.device.remove();
          person = await Person.arrive();
          await person.run(`szafa put ${[...new Set(LOCAL.map((name) => name.split('/')[0]))].join(' ')}`);
        }
        await prepare(person, line);
        await person.run(await fill(person, line));
        rmSync(join(person.folder, 'shared'), { recursive: true, force: true });
      }
      await person?.device.remove();
    });
  }
});

test('every example that is run elsewhere is in the text', () => {
  const all = [...sections().values()].flat();
  for (const line of Object.keys(ELSEWHERE)) assert.ok(all.includes(line), line);
});
