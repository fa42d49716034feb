import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { pathOf } from '@szafa/protocol';
import { createApp } from '../src/app.ts';
import { readConfig } from '../src/config.ts';
import { openServices, type Services } from '../src/services.ts';
import { prepareStores } from '../src/stores.ts';

export const TOKEN = 'system-token-of-a-test-0123456789';

export function initOf(volumes: Buffer[]) {
  const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
  return {
    file_name: 'f',
    file_size: 1,
    total_sha256: digest(Buffer.concat(volumes)),
    chunk_count: volumes.length,
    chunks: volumes.map((bytes) => ({ size: bytes.length, sha256: digest(bytes) })),
    enc_params: {},
  };
}

/** The whole service in this process, on SQLite and a folder: for tests that need a hand on its parts or its clock. */
export class InProcess {
  readonly services: Omit<Services, 'nodeMetrics'>;
  readonly folder: string;
  readonly url: string;

  private constructor(services: Omit<Services, 'nodeMetrics'>, folder: string, url: string) {
    this.services = services;
    this.folder = folder;
    this.url = url;
  }

  static async start(t: TestContext, env: Record<string, string> = {}): Promise<InProcess> {
    const folder = await mkdtemp(join(tmpdir(), 'szafa-in-process-'));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const config = readConfig({
      SZ_DATA: folder,
      SZ_SYSTEM_TOKEN: TOKEN,
      SZ_MIN_FREE: '0',
      SZ_LOG: 'silent',
      ...env,
    });
    await prepareStores(config);
    const services = await openServices(config, 'p1');
    const app = await createApp({ ...services, nodeMetrics: async () => '' });
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    t.after(async () => {
      services.pulls.stop();
      await app.close();
      await services.metadata.close();
    });
    return new InProcess(services, folder, url);
  }

  /** As the administrator. */
  async call(
    method: string,
    path: string,
    body?: object | Uint8Array,
  ): Promise<{ status: number; json: Record<string, unknown> }> {
    const answer = await fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${TOKEN}` },
      ...(body && { body: body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body) }),
    });
    return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
  }

  async begin(volumes: Buffer[]): Promise<string> {
    const { status, json } = await this.call('POST', pathOf('init'), initOf(volumes));
    assert.equal(status, 200, JSON.stringify(json));
    return String(json['transfer_id']);
  }

  /** The id of a file of these volumes. */
  async upload(volumes: Buffer[]): Promise<string> {
    const transfer_id = await this.begin(volumes);
    for (const [at, bytes] of volumes.entries()) {
      const path = pathOf('writeVolume', { transfer_id, idx: at + 1 });
      assert.equal((await this.call('PUT', path, bytes)).status, 200);
    }
    const done = await this.call('POST', pathOf('complete', { transfer_id }));
    assert.equal(done.status, 200);
    return String(done.json['file_id']);
  }
}
