import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite, test } from 'node:test';
import { useService } from '../harness/index.ts';
import { loggedIn } from './account.ts';
import { Between } from './between.ts';
import { assertError } from './device.ts';

const VOLUMES = 6;
const FILM = 512 * 1024 * VOLUMES - 5;
const PUT = ['put', 'film', '--volume-size', '512K', '--json'];

/** Stands before the device's pull server and spoils one volume: once for good measure would not be noticed. */
async function spoiler(
  stack: AsyncDisposableStack,
  volume: number,
): Promise<{ url: string; target: string }> {
  const state = { url: '', target: '' };
  const server = createServer((request, response) => {
    get(`${state.target}${request.url}`, { headers: request.headers }, async (upstream) => {
      const body = Buffer.concat(await Array.fromAsync(upstream as AsyncIterable<Buffer>));
      if (request.url?.includes(`/${volume}?`) && body.length > 0) body[0] = body[0]! ^ 1;
      response.writeHead(upstream.statusCode ?? 502, upstream.headers).end(body);
    }).on('error', () => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stack.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return state;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

const service = useService();

suite('szafa: pull', { concurrency: 3 }, () => {
  async function onLine(stack: AsyncDisposableStack) {
    const between = stack.use(await Between.start(service.url));
    const device = await loggedIn(between);
    stack.defer(() => device.remove());
    const bytes = randomBytes(FILM);
    await writeFile(device.path('film'), bytes);
    return { between, device, bytes };
  }

  test('the service fetches every volume with aria2c; nothing is pushed', async () => {
    await using stack = new AsyncDisposableStack();
    const { device, between, bytes } = await onLine(stack);
    const put = (await device.ok([...PUT, '--pull'])).line('uploaded');
    assert.equal(put['volumes'], VOLUMES);
    assert.equal(between.puts().size, 0);
    assert.ok(between.requests.some(({ path }) => path.endsWith('/pull')));
    assert.ok((await device.ok(['get', 'film', '-o', '-'])).bytes.equals(bytes));
  });

  test('a volume that the service skipped is pushed, and only that one', async () => {
    await using stack = new AsyncDisposableStack();
    const { device, between, bytes } = await onLine(stack);
    const spoiled = await spoiler(stack, 3);
    between.outward = (path, body) => {
      if (!path.endsWith('/pull')) return body;
      const json = JSON.parse(body.toString()) as { base_url: string; token: string };
      spoiled.target = json.base_url;
      return Buffer.from(JSON.stringify({ ...json, base_url: spoiled.url }));
    };
    await device.ok([...PUT, '--pull']);
    assert.deepEqual([...between.puts()], [[3, 1]]);
    assert.ok((await device.ok(['get', 'film', '-o', '-'])).bytes.equals(bytes));
    // Gone at the end: nobody listens there any more.
    await assert.rejects(fetch(`${spoiled.target}/pull/x/1`));
  });

  test('--pull-address: the port is listened on, the service is told the address', async () => {
    await using stack = new AsyncDisposableStack();
    const { device, between, bytes } = await onLine(stack);
    const told: string[] = [];
    between.outward = (path, body) => {
      if (path.endsWith('/pull')) told.push((JSON.parse(body.toString()) as { base_url: string }).base_url);
      return body;
    };
    const address = `http://127.0.0.1:${await freePort()}`;
    await writeFile(device.path('small'), 'second file');
    await device.ok(['put', 'film', 'small', '--pull-address', address]);
    assert.deepEqual(told, [address, address]);
    assert.equal(between.puts().size, 0);
    assert.ok((await device.ok(['get', 'film', '-o', '-'])).bytes.equals(bytes));
    assertError(await device.run(['put', 'film', '--pull-address', 'ftp://x']), 2, /is not an address/);
  });

  test('a pull that cannot work says so, and the same put without --pull goes on', async () => {
    await using stack = new AsyncDisposableStack();
    const device = await loggedIn(service);
    stack.defer(() => device.remove());
    await writeFile(device.path('film'), randomBytes(FILM));
    // Not an address of the caller: the service refuses to go there.
    const args = ['put', 'film', '--volume-size', '512K', '--pull-address', 'http://192.0.2.1'];
    assertError(await device.run(args), 1, /^szafa: film: /, /without --pull/);
    await device.ok(PUT);
  });
});
