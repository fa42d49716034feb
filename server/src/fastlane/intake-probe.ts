import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sink } from '../platform/volumes/body.ts';
import { Intake } from './intake.ts';

const PROBE_MS = 5_000;
const LENT_BYTES = 64;
const [HEAD, BODY, REST] = ['head', 'b'.repeat(2 * LENT_BYTES), 'rest'] as const;

/**
 * Tests on a real connection the undocumented behaviour of Node that an intake relies on: taking over a connection, reading a
 * body into lent memory, and emitting later bytes on the new socket. Returns the fault, or undefined.
 */
export async function probeIntake(): Promise<string | undefined> {
  const outcome = Promise.withResolvers<string | undefined>();
  const server = createServer((socket) => {
    socket.once('data', () => {
      probe(socket).then(outcome.resolve, (error: unknown) => outcome.resolve(String(error)));
    });
  });
  server.listen(0, '127.0.0.1');
  const timeout = new AbortController();
  try {
    await once(server, 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    client.on('error', (error) => outcome.resolve(String(error)));
    client.write(HEAD);
    // Waits for the answer to the head, so that the body arrives separately.
    client.once('data', () => client.write(BODY + REST));
    const late = sleep(PROBE_MS, 'nothing was read in time', { signal: timeout.signal }).catch(
      () => undefined,
    );
    const found = await Promise.race([outcome.promise, late]);
    client.destroy();
    return found;
  } catch (error) {
    return String(error);
  } finally {
    timeout.abort();
    server.close();
  }
}

async function probe(accepted: Socket): Promise<string | undefined> {
  const intake = Intake.takeOver(accepted, () => false, LENT_BYTES, BODY.length);
  const { socket } = intake;
  try {
    const memory = Buffer.alloc(LENT_BYTES);
    let body = '';
    const sink: Sink = {
      target: () => memory,
      advance: (count) => {
        body += memory.toString('latin1', 0, count);
        return undefined;
      },
    };
    socket.write('go on');
    await intake.pour(sink);
    if (body !== BODY) return 'a body was read incorrectly';
    memory.fill(0);
    intake.release(Buffer.from(HEAD));
    let after = '';
    for await (const bytes of socket) {
      after += bytes;
      if (after.length >= HEAD.length + REST.length) break;
    }
    if (after !== HEAD + REST) return 'a connection was not released';
    return memory.every((byte) => byte === 0)
      ? undefined
      : 'bytes were read into memory after it was returned';
  } finally {
    socket.destroy();
  }
}
