import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { devNull } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Daemon } from '../engines/daemon.ts';

function run(...[command = '', ...args]: string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8', timeout: 10_000 });
  const why = error?.message ?? stderr.trim();
  assert.equal(status, 0, `${command} ${args.join(' ')} failed (these tests make networks, as root): ${why}`);
}

/**
 * A network of a node's own: a namespace of the kernel, joined to ours by cables. It belongs to a process that ends with
 * this one, and all of it goes with that process.
 */
export class Network {
  readonly #keeper: Daemon;
  readonly #cables: Cable[] = [];

  private constructor(keeper: Daemon) {
    this.#keeper = keeper;
  }

  static async create(): Promise<Network> {
    const network = new Network(new Daemon(['unshare', '--net', 'sleep', 'infinity'], { log: devNull }));
    const ours = readlinkSync('/proc/self/ns/net');
    for (const end = Date.now() + 10_000; readlinkSync(network.#path) === ours; await sleep(10)) {
      assert.ok(Date.now() < end, 'no network of its own (these tests make networks, as root)');
    }
    run(...network.command, 'ip', 'link', 'set', 'lo', 'up');
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        network.#unplug();
        process.kill(process.pid, signal);
      });
    }
    return network;
  }

  /** Runs what follows it in this network. */
  get command(): string[] {
    return ['nsenter', `--net=${this.#path}`, '--'];
  }

  get #path(): string {
    return `/proc/${this.#keeper.pid}/ns/net`;
  }

  cable(): Cable {
    const cable = new Cable(this.#keeper.pid, this.command);
    this.#cables.push(cable);
    return cable;
  }

  async remove(): Promise<void> {
    this.#unplug();
    await this.#keeper.kill();
  }

  /** Connections that were never closed keep a network, and its cables, for minutes without a process in it. */
  #unplug(): void {
    for (const cable of this.#cables.splice(0)) cable.remove();
  }
}

/** Between our network and a node's. Packets of one of its two addresses to the other never leave this machine. */
export class Cable {
  /** At our end. */
  readonly near: string;
  /** At the node's end. */
  readonly far: string;
  readonly #within: string[];
  readonly #name = `sz${randomBytes(5).toString('hex')}`;
  readonly #plug = `${this.#name}p`;

  constructor(pid: number, within: string[]) {
    this.#within = within;
    const name = this.#name;
    // One of the small networks in 198.18.0.0/15, which is set aside for tests.
    const at = randomInt(2 ** 15) * 4;
    const address = (last: number) => `198.${18 + (at >> 16)}.${(at >> 8) & 255}.${(at & 255) + last}`;
    this.near = address(1);
    this.far = address(2);
    run('ip', 'link', 'add', name, 'type', 'veth', 'peer', 'name', this.#plug, 'netns', String(pid));
    run('ip', 'addr', 'add', `${this.near}/30`, 'dev', name);
    run('ip', 'link', 'set', name, 'up');
    // The node's address is at a switch behind the plug: a plug that is pulled takes no route away, so nobody is told.
    const inside = (...args: string[]) => run(...within, 'ip', ...args);
    inside('link', 'add', name, 'type', 'bridge');
    inside('link', 'set', this.#plug, 'master', name);
    inside('addr', 'add', `${this.far}/30`, 'dev', name);
    inside('link', 'set', name, 'up');
    this.mend();
  }

  /** From now on packets vanish both ways. No connection is closed or refused by it. */
  cut(): void {
    run(...this.#within, 'ip', 'link', 'set', this.#plug, 'down');
  }

  mend(): void {
    run(...this.#within, 'ip', 'link', 'set', this.#plug, 'up');
  }

  remove(): void {
    run('ip', 'link', 'del', this.#name);
  }
}
