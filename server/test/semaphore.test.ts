import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Semaphore } from '../src/platform/semaphore.ts';

class Busy extends Error {}
const busyError = () => new Busy();

/** Work that ends when the test says so, and the order in which it began. */
class Works {
  readonly began: string[] = [];
  readonly #ends: (() => void)[] = [];
  readonly #semaphore: Semaphore;

  constructor(semaphore: Semaphore) {
    this.#semaphore = semaphore;
  }

  run(address: string, name = address): Promise<string> {
    return this.#semaphore.run(address, async () => {
      this.began.push(name);
      await new Promise<void>((resolve) => this.#ends.push(resolve));
      return name;
    });
  }

  /** Ends what runs, one after the other, until nothing is left. */
  async endAll(): Promise<void> {
    for (let end = this.#ends.shift(); end; end = this.#ends.shift()) {
      end();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

test('addresses take semaphore: who comes once waits for no line of another', async () => {
  const works = new Works(new Semaphore(1, 100, busyError));
  const all = [
    ...Array.from({ length: 50 }, (_, at) => works.run('many', `many ${at}`)),
    works.run('one'),
    works.run('two', 'two 0'),
    works.run('two', 'two 1'),
  ];
  await works.endAll();
  await Promise.all(all);
  assert.deepEqual(works.began.slice(0, 8), [
    ...['many 0', 'many 1', 'one', 'two 0', 'many 2', 'two 1', 'many 3', 'many 4'],
  ]);
  assert.equal(works.began.length, 53);
});

test('so many run at once, and all of them do, also when some fail', async () => {
  const semaphore = new Semaphore(3, 100, busyError);
  let [running, most] = [0, 0];
  const results = await Promise.allSettled(
    Array.from({ length: 30 }, (_, at) =>
      semaphore.run(String(at % 4), async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
        if (at % 5 === 0) throw new Error('failed');
      }),
    ),
  );
  assert.equal(most, 3);
  assert.equal(results.filter(({ status }) => status === 'rejected').length, 6);
});

test('when all places to wait are taken the longest line loses its last', async () => {
  const works = new Works(new Semaphore(1, 4, busyError));
  const running = works.run('running');
  const many = [1, 2, 3].map((at) => works.run('many', `many ${at}`));
  const late = many.at(-1)!;
  const few = [works.run('one'), works.run('two')];
  await assert.rejects(late, Busy);
  await assert.rejects(works.run('many'), Busy, 'their own line is the longest');
  const third = works.run('three');
  await assert.rejects(many[1]!, Busy);
  // All lines are equal: whoever comes last.
  await assert.rejects(works.run('four'), Busy);
  await works.endAll();
  await Promise.all([running, many[0], ...few, third]);
  assert.deepEqual(works.began, ['running', 'many 1', 'one', 'two', 'three']);
});
