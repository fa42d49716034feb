import { BlobSource, webEngine } from '@szafa/client';
import { SEGMENT_SIZE } from '@szafa/format';
import { discard } from '../bridge/discard.ts';
import { holding, type KeyHoldingEngine } from './holding.worker.ts';
import { Sealers } from './sealers.worker.ts';

/** The engine of the app: large volumes are sealed by other workers. */
export function appEngine(): KeyHoldingEngine {
  const sealers = new Sealers();
  // One volume is read or written while the others are sealed.
  const web = webEngine({ parallel: sealers.count + 1, discard });
  return {
    ...holding(web),

    sealSegments(key, source, part) {
      // Small volumes are sealed faster here than a message takes.
      const apart = source instanceof BlobSource && part.length > SEGMENT_SIZE;
      return apart ? sealers.seal(key, source, part) : web.sealSegments(key, source, part);
    },
  };
}
