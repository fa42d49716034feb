import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Output } from '../src/lib/print/output.ts';
import { width } from '../src/lib/print/text.ts';
import { drawBars, Meter, Progress } from '../src/lib/transfer/progress.ts';

function clockwork() {
  let now = 0;
  return { clock: () => now, pass: (ms: number) => (now += ms) };
}

const silent = () => new Output({ json: false, quiet: true });

suite('progress', () => {
  test('the rate is that of the last seconds', () => {
    const { clock, pass } = clockwork();
    const meter = new Meter(clock);
    pass(60_000);
    assert.equal(meter.rate, 0);
    for (let i = 0; i < 100; i++) {
      meter.add(1000);
      pass(1000);
    }
    assert.ok(Math.abs(meter.rate - 1000) < 150, `${meter.rate}`);
    for (let i = 0; i < 20; i++) {
      meter.add(5000);
      pass(1000);
    }
    assert.ok(Math.abs(meter.rate - 5000) < 600, `${meter.rate}`);
    pass(60_000);
    assert.ok(meter.rate < 1000, 'a stalled line slows down');
  });

  test('volumes of an earlier attempt count as done, but not as fast', async () => {
    const { clock, pass } = clockwork();
    const progress = new Progress(silent(), clock);
    progress.expect([{ size: 10_000 }]);
    const track = progress.start('x', 10_000);
    for (let done = 1000; done <= 8000; done += 1000) track.update(done);
    await Promise.resolve();
    assert.equal(progress.bytesDone, 8000);
    assert.equal(progress.meter.rate, 0);
    track.update(8500);
    pass(1000);
    track.update(9000);
    assert.equal(progress.meter.rate, 500);
    assert.equal(progress.secondsLeft, 2);
    track.end(true);
    assert.deepEqual([progress.bytesDone, progress.filesDone], [10_000, 1]);
    progress.close();
  });

  test('a stream, whose end nobody knows: what is done, no percentage, no time, and in the end its size', () => {
    const { clock, pass } = clockwork();
    const progress = new Progress(silent(), clock);
    progress.expect([{ size: 0 }]);
    const track = progress.start('stream', undefined);
    for (let done = 1000; done <= 5000; done += 1000) {
      track.update(done);
      pass(1000);
    }
    assert.deepEqual([progress.bytesDone, progress.total], [5000, undefined]);
    assert.equal(progress.secondsLeft, Number.POSITIVE_INFINITY);
    for (const line of drawBars(progress, 100, 24)) {
      assert.match(line, /\[-{20}\] +4\.88 KiB/);
      assert.doesNotMatch(line, /%/);
    }
    track.end(true);
    assert.deepEqual([progress.bytesDone, progress.total, progress.filesDone], [5000, 5000, 1]);
    progress.close();
  });

  test('a file that failed leaves the whole', () => {
    const { clock } = clockwork();
    const progress = new Progress(silent(), clock);
    progress.expect([{ size: 100 }, { size: 200 }]);
    const track = progress.start('x', 100);
    track.update(40);
    track.end(false);
    assert.deepEqual([progress.files, progress.bytes, progress.bytesDone], [1, 240, 40]);
    progress.close();
  });

  test('bars fit every terminal, whatever the names', () => {
    const { clock, pass } = clockwork();
    const progress = new Progress(silent(), clock);
    progress.expect(Array.from({ length: 20 }, () => ({ size: 5e10 })));
    for (let i = 0; i < 20; i++) progress.start(i % 2 ? '日本語'.repeat(30) : 'a\u001b[31m\nb', 5e10);
    assert.equal(drawBars(progress, 80, 24).length, 1, 'young ones are not shown');
    pass(1000);
    for (const columns of [20, 40, 64, 80, 100, 200]) {
      const lines = drawBars(progress, columns, 24);
      assert.equal(lines.length, 9);
      for (const line of lines) {
        assert.ok(columns < 50 || width(line) < columns, `${columns}: ${line}`);
        assert.doesNotMatch(line, /[\u001b\n]/);
      }
    }
    assert.equal(drawBars(progress, 80, 4).length, 3);
    assert.match(drawBars(progress, 100, 24).at(-1)!, /^0 of 20 files +\[-{20}\] +0 % +931\.3 GiB/);
    progress.close();
  });
});
