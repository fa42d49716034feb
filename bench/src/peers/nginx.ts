import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Daemon, freePort } from '../daemon.ts';
import { Connection } from '../load/connection.ts';
import { request } from '../load/request.ts';
import type { Batch, Peer } from './peer.ts';

/** Configures nginx as the upper limit: it stores bodies without verifying them and sends files with sendfile. */
function configuration(folder: string, port: number): string {
  const root = process.getuid?.() === 0 ? 'user root;' : '';
  return `${root}
daemon off;
worker_processes auto;
pid ${folder}/nginx.pid;
error_log stderr warn;
events { worker_connections 1024; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  tcp_nodelay on;
  keepalive_timeout 300s;
  keepalive_requests 1000000000;
  client_max_body_size 0;
  client_body_buffer_size 1m;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  server {
    listen 127.0.0.1:${port} reuseport backlog=1024;
    root ${folder}/data;
    dav_methods PUT DELETE;
  }
}
`;
}

export async function startNginx(program: string, folder: string): Promise<Peer> {
  await mkdir(join(folder, 'data'), { recursive: true });
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  await writeFile(file, configuration(folder, port));
  const daemon = new Daemon(
    'nginx',
    [program, '-p', folder, '-e', 'stderr', '-c', file],
    join(folder, 'output'),
  );
  await daemon.listening(port);
  let batches = 0;
  return {
    name: 'nginx',
    daemon,
    port,
    async prepare(count, bytes): Promise<Batch> {
      const batch = ++batches;
      const paths = Array.from({ length: count }, (_, i) => `/${batch}-${i + 1}`);
      return {
        puts: paths.map((path) => request({ method: 'PUT', path, body: bytes })),
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
