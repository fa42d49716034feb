import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Daemon, DaemonError } from '../daemon.ts';
import { Connection } from '../load/connection.ts';
import { request } from '../load/request.ts';
import type { Batch, Peer } from './peer.ts';

const script = fileURLToPath(new URL('tus-server.ts', import.meta.url));
const version = { 'Tus-Resumable': '1.0.0' };

export async function startTus(folder: string): Promise<Peer> {
  const data = join(folder, 'data');
  await mkdir(data, { recursive: true });
  const daemon = new Daemon('tus', [process.execPath, script, data], join(folder, 'output'));
  const port = Number((await daemon.printed(/listening on (\d+)/))[1]);
  return {
    name: 'tus',
    daemon,
    port,
    async prepare(count, bytes): Promise<Batch> {
      const connection = await Connection.open(port);
      const paths: string[] = [];
      for (let i = 0; i < count; i++) {
        const create = request({
          method: 'POST',
          path: '/files',
          headers: { ...version, 'Upload-Length': bytes },
        });
        const { headers } = await connection.exchange(create);
        const location = headers.get('location');
        if (location === undefined) throw new DaemonError('tus gave no Location');
        paths.push(new URL(location, 'http://127.0.0.1').pathname);
      }
      connection.close();
      const headers = { ...version, 'Upload-Offset': 0, 'Content-Type': 'application/offset+octet-stream' };
      return {
        puts: paths.map((path) => request({ method: 'PATCH', path, headers, body: bytes })),
        gets: async () => paths.map((path) => request({ method: 'GET', path, expectBytes: bytes })),
        async remove() {
          const connection = await Connection.open(port);
          for (const path of paths) {
            await connection.exchange(request({ method: 'DELETE', path, headers: version }));
          }
          connection.close();
        },
      };
    },
  };
}
