import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Passwords } from '../src/accounts/passwords.ts';
import { TryLater } from '../src/platform/http/api-error.ts';

const passwords = new Passwords();

test('a hash is Argon2id at no less than the recommended cost, salted, and never the password', async () => {
  const [first, second] = await Promise.all([
    passwords.hash('correct horse'),
    passwords.hash('correct horse'),
  ]);
  const [, memory, passes] = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=1\$/.exec(first) ?? [];
  assert.ok(Number(memory) >= 19 * 1024 && Number(passes) >= 2, first);
  assert.notEqual(first, second);
  assert.equal(first.includes('correct'), false);
});

test('only the password itself is right', async () => {
  const hash = await passwords.hash('pässwörd ☂');
  assert.equal(await passwords.verify('pässwörd ☂', hash), true);
  for (const wrong of ['', 'pässwörd', 'pässwörd ☂ ', 'Pässwörd ☂', 'password ☂']) {
    assert.equal(await passwords.verify(wrong, hash), false, wrong);
  }
});

test('a hash in the usual text form of another program is understood, with its own cost', async () => {
  // From the tests of the reference implementation.
  const hash = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
  assert.equal(await passwords.verify('password', hash), true);
  assert.equal(await passwords.verify('password', hash.replace('t=2', 't=3')), false);
});

test('an unknown user is never right, and costs about as much as a wrong password', async () => {
  const hash = await passwords.hash('something');
  // CPU time, not the clock: the machine may have other work.
  const cost = async (stored: string | undefined) => {
    const start = process.cpuUsage();
    assert.equal(await passwords.verify('wrong', stored), false);
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000;
  };
  let [known, unknown] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < 5; round++) {
    known = Math.min(known, await cost(hash));
    unknown = Math.min(unknown, await cost(undefined));
  }
  assert.ok(unknown > known / 2 && unknown < known * 2, `${unknown} ms and ${known} ms`);
});

test('a damaged hash is an error, not a wrong password', async () => {
  for (const damaged of ['', 'plain', '$argon2i$v=19$m=1,t=1,p=1$AA$AA']) {
    await assert.rejects(passwords.verify('x', damaged), /damaged/);
  }
});

test('two at a time, in turn, also when one fails', async () => {
  let running = 0;
  let most = 0;
  const order: number[] = [];
  const work = (at: number) =>
    passwords.inTurn('192.0.2.1', async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 2));
      running--;
      order.push(at);
      if (at % 3 === 0) throw new Error('failed');
    });
  const results = await Promise.allSettled(Array.from({ length: 12 }, (_, at) => work(at)));
  assert.equal(results.filter(({ status }) => status === 'rejected').length, 4);
  assert.equal(most, 2);
  assert.equal(order.length, 12);
  assert.ok(order.indexOf(11) > order.indexOf(0));
});

test('when too many wait, the last is refused with 503 and Retry-After', async () => {
  const busy = new Passwords();
  const done = Promise.withResolvers<void>();
  const waiting = Array.from({ length: 1003 }, () => busy.inTurn('address', () => done.promise));
  const late = waiting.pop()!;
  await assert.rejects(late, (error) => {
    assert.ok(error instanceof TryLater && error.status === 503 && Number(error.headers['retry-after']) >= 1);
    return true;
  });
  done.resolve();
  await Promise.all(waiting);
});
