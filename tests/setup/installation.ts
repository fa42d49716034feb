/** What docs/internet.md and deploy/ say about an installation, for the tests that carry it out. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A clean checkout: what git has or would add, and nothing that was installed, built or stored beside it. */
export function copyCheckout(target: string): void {
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  for (const path of list.split('\0').filter(Boolean)) {
    const from = join(ROOT, path);
    if (lstatSync(from, { throwIfNoEntry: false })) cpSync(from, join(target, path));
  }
}

/** The commands that the documentation gives for an installation as a service, without comments. */
export function documentedCommands(): string[] {
  const text = readFileSync(join(ROOT, 'docs/internet.md'), 'utf8');
  const block = /### As a systemd service\n.*?```sh\n(.*?)```/s.exec(text)?.[1] ?? '';
  const lines = block.split('\n').map((line) => line.replace(/ +#.*/, ''));
  return lines.filter((line) => line !== '');
}

/** A line of the systemd unit. */
export function unitSetting(name: string): string {
  const unit = readFileSync(join(ROOT, 'deploy/szafa.service'), 'utf8');
  const found = new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1];
  assert.ok(found, `the unit has ${name}`);
  return found;
}

/** Runs a program that may take minutes. */
export function run(
  program: string,
  args: string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; input?: string } = {},
): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    ...options,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
    timeout: 1_800_000,
  });
  assert.equal(status, 0, `${program} ${args.join(' ')}: ${error ?? ''}${stdout}${stderr}`);
  return stdout;
}
