import { decodeInit, type InitBody, RuleError, type SentInit } from '@szafa/protocol';
import { validatorOf } from './compilers.ts';

/** What X-Init says, by the schema of the body of init. */
export function readInit(header: string | undefined): SentInit {
  const { body, text } = decodeInit(header);
  const isInit = validatorOf<InitBody>('Init');
  if (isInit(body)) return { body, text };
  const [first] = isInit.errors!;
  throw new RuleError(`X-Init${first!.instancePath} ${first!.message}`);
}
