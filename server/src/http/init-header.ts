import { decodeInit, type InitBody, type SentInit } from '@szafa/protocol';
import { checked } from './bodies.ts';

/** What X-Init says, by the schema of the body of init. */
export function readInit(header: string | undefined): SentInit {
  const { body, text } = decodeInit(header);
  return { body: checked<InitBody>(body, 'Init', 'X-Init'), text };
}
