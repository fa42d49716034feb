import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Ceph } from '../engines/ceph.ts';
import { type Answer, makeFile, readVolume, Service, upload } from '../harness/index.ts';
import { cases, compare, linesOf, type Stage, setStage } from './accel.ts';
import { type Beside, Nginx } from './nginx.ts';

const CERTIFICATE = fileURLToPath(new URL('../cross/certificates/self-signed.pem', import.meta.url));

/** The store with TLS, as nginx sees it; it keeps the headers of what nginx asked, and can answer otherwise. */
class Front {
  readonly asked: http.IncomingMessage[] = [];
  instead: ((response: http.ServerResponse) => void) | undefined;
  readonly #server: https.Server;

  private constructor(port: number, pem: Buffer) {
    this.#server = https.createServer({ cert: pem, key: pem }, (request, response) => {
      this.asked.push(request);
      if (this.instead) return this.instead(response);
      const { method, url, rawHeaders } = request;
      const onward = http.request({ host: '127.0.0.1', port, method, path: url, headers: rawHeaders });
      onward.on('response', (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.rawHeaders);
        pipeline(answer, response, () => undefined /* either end may hang up */);
      });
      onward.on('error', () => response.destroy());
      onward.end();
    });
  }

  static async start(ceph: Ceph): Promise<Front> {
    const front = new Front(ceph.port, await readFile(CERTIFICATE));
    front.#server.listen(0, '127.0.0.1');
    await once(front.#server, 'listening');
    return front;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** nginx as it is in deploy/, which fetches volumes from this store; `name` is what its certificate must have. */
const fromS3 = (ceph: Ceph, front: Front, name: string): Beside => ({
  's3.conf': { from: 's3.conf', changes: [['s3.example.com:443', `127.0.0.1:${front.port}`]] },
  'accel.conf': {
    from: 'accel-s3.conf',
    changes: [
      ['Host s3.example.com', `Host 127.0.0.1:${ceph.port}`],
      ['proxy_ssl_name s3.example.com', `proxy_ssl_name ${name}`],
      ['/etc/ssl/certs/ca-certificates.crt', CERTIFICATE],
    ],
  },
});

let ceph: Ceph;
let front: Front;
let service: Service;
let accelerated: Nginx;
let plain: Nginx;
let stage: Stage;
before(async () => {
  ceph = await Ceph.start();
  front = await Front.start(ceph);
  service = new Service({
    env: {
      SZ_WORKERS: '1',
      SZ_TRUST_PROXY: '127.0.0.1',
      SZ_ACCEL: '1',
      SZ_VOLUMES: ceph.url('accel'),
      ...ceph.environment,
    },
  });
  await service.start();
  accelerated = await Nginx.create([service, service], fromS3(ceph, front, 'localhost'));
  plain = await Nginx.create([service, service]);
  stage = await setStage(accelerated);
});
after(async () => {
  await accelerated?.stop();
  await plain?.stop();
  await service?.stop();
  front?.stop();
  await ceph?.stop();
});

test('an answer is the same, header for header and byte for byte, whether nginx or the node fetches the volume', async () => {
  for (const one of cases(stage, 's3')) {
    front.asked.length = 0;
    await compare(service, accelerated, plain, one);
    assert.equal(front.asked.length, one.sentByNginx ? 1 : 0, one.name);
  }
});

test('the store learns nothing of the client, and the address is good for a minute', async () => {
  front.asked.length = 0;
  const headers = { cookie: 'a=b', 'user-agent': 'x', 'x-amz-meta-x': 'y', range: 'bytes=10-19' };
  const answer = await readVolume(stage.owner, stage.fileId, 1, headers);
  assert.ok(answer.body.equals(stage.volumes[0]!.subarray(10, 20)));
  const [asked] = front.asked;
  assert.deepEqual(asked?.rawHeaders, ['Range', 'bytes=10-19', 'Host', `127.0.0.1:${ceph.port}`]);
  assert.match(asked.url ?? '', /[?&]X-Amz-Expires=60&/);
});

/** The node answered after nginx had tried: with bytes, or with what is wrong. */
async function byNode(answer: Answer): Promise<void> {
  const lines = await linesOf(service, answer.headers, 2);
  assert.deepEqual(
    lines.map(({ accel }) => accel),
    [true, undefined],
  );
}

test('whatever the store answers nginx, the client gets the volume or an error of ours', async () => {
  const { owner, fileId, volumes } = stage;
  try {
    for (const status of [301, 307, 400, 403, 404, 412, 416, 429, 500, 501, 503]) {
      front.instead = (response) => {
        const headers = {
          location: 'https://elsewhere/',
          'x-amz-request-id': 'x',
          'x-accel-redirect': '/szafa-s3/x',
        };
        response.writeHead(status, headers).end('<Error><Code>Some</Code></Error>');
      };
      const answer = await readVolume(owner, fileId, 1);
      assert.equal(answer.status, 200, `${status}: ${answer.excerpt}`);
      assert.ok(answer.body.equals(volumes[0]!));
      assert.equal(answer.headers['x-amz-request-id'], undefined);
      await byNode(answer);
    }
    front.instead = (response) => response.destroy();
    const answer = await readVolume(owner, fileId, 3, { range: 'bytes=5-9' });
    assert.ok(answer.body.equals(volumes[2]!.subarray(5, 10)));
    await byNode(answer);
  } finally {
    front.instead = undefined;
  }
  const { fileId: lost } = await upload(owner, makeFile([100]));
  const client = ceph.client('accel');
  await client.delete(await Array.fromAsync(client.list(`volumes/${lost}/`), ({ key }) => key));
  client.close();
  const gone = await readVolume(owner, lost, 1);
  assert.equal(gone.status, 404);
  assert.equal(typeof gone.json['error'], 'string');
  await byNode(gone);
});

test('a store that cannot show its certificate is asked for nothing', async () => {
  const deceived = await Nginx.create([service, service], fromS3(ceph, front, 'elsewhere.example'));
  try {
    front.asked.length = 0;
    const { owner, fileId, volumes } = stage;
    const path = `/api/files/${fileId}/chunk/1`;
    const answer = await deceived.call({ path, token: owner.token });
    assert.ok(answer.body.equals(volumes[0]!));
    assert.equal(front.asked.length, 0);
    await byNode(answer);
  } finally {
    await deceived.stop();
  }
});

test('no log tells a token, a signed address or a key', async () => {
  const { access, error } = await accelerated.logs();
  assert.match(access, new RegExp(`"path":"/api/files/${stage.fileId.slice(0, 6)}…/chunk/3"`));
  for (const log of [access, error, service.log]) {
    accelerated.witness.checkLogs(log);
    assert.doesNotMatch(log, /X-Amz|szafa-s3/i);
    for (const secret of Object.values(ceph.environment)) assert.ok(!log.includes(secret));
  }
});
