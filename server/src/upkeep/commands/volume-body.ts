import { Writable } from 'node:stream';
import { type Body, copyInto } from '../../platform/volumes/body.ts';
import type { OpenVolume } from '../../platform/volumes/store.ts';

/** A stored volume as a body for another store. */
export const bodyOf = (volume: OpenVolume): Body => ({
  async pour(sink) {
    let refusal: unknown;
    const bridge = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        Promise.try(copyInto, chunk, sink).then(
          () => done(),
          (error: Error) => {
            refusal = error;
            done(error);
          },
        );
      },
    });
    // Told by what `send` rejects with.
    bridge.on('error', () => undefined);
    await volume.send(bridge, 0, volume.size).catch((error: unknown) => {
      throw refusal ?? error;
    });
  },
});
