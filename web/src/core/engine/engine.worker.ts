import { BlobSource, webEngine } from '@szafa/client';
import { SEGMENT_SIZE } from '@szafa/format';
import { discard } from '../bridge/discard.ts';
import { holding, type KeyHoldingEngine } from './holding.worker.ts';
import { Sealers } from './sealers.worker.ts';

/** The app's engine, which seals large volumes in other workers. */
export function appEngine(): KeyHoldingEngine {
  const sealers = new Sealers();
  // One more than there are sealers, so that a volume is read or sent while the others are sealed.
  const web = webEngine({ parallel: sealers.count + 1, discard });
  return {
    ...holding(web),

    sealSegments(key, source, part) {
      // For a small volume, the message to a sealer would take longer than sealing here.
      const apart = source instanceof BlobSource && part.length > SEGMENT_SIZE;
      return apart ? sealers.seal(key, source, part) : web.sealSegments(key, source, part);
    },
  };
}
