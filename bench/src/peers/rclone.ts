import { hash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Daemon, freePort } from '../daemon.ts';
import { Connection } from '../load/connection.ts';
import { request } from '../load/request.ts';
import type { Batch, Peer } from './peer.ts';

export async function startRclone(program: string, folder: string): Promise<Peer> {
  const data = join(folder, 'data');
  await mkdir(data, { recursive: true });
  const port = await freePort();
  const command = [program, 'serve', 'restic', '--addr', `127.0.0.1:${port}`, data];
  const daemon = new Daemon('rclone', command, join(folder, 'output'), {
    ...process.env,
    // Do not use the user's own configuration.
    RCLONE_CONFIG: join(folder, 'rclone.conf'),
  });
  await daemon.listening(port);
  let batches = 0;
  return {
    name: 'rclone',
    daemon,
    port,
    async prepare(count, bytes): Promise<Batch> {
      const batch = ++batches;
      // restic uses SHA-256 digests as names, so any name of that form works.
      const paths = Array.from({ length: count }, (_, i) => `/data/${hash('sha256', `${batch} ${i}`)}`);
      return {
        puts: paths.map((path) => request({ method: 'POST', path, body: bytes })),
        gets: async () => paths.map((path) => request({ method: 'GET', path, expectBytes: bytes })),
        async remove() {
          const connection = await Connection.open(port);
          for (const path of paths) await connection.exchange(request({ method: 'DELETE', path }));
          connection.close();
        },
      };
    },
  };
}
