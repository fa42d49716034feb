import { decodeInit, headers, type InitBody, type SentInit, targetDir } from '@szafa/protocol';
import type { Caller } from '../accounts/sessions.ts';
import { requireDirInScope } from '../accounts/token-scope.ts';
import { checked } from '../platform/http/bodies.ts';

/** What X-Init says, by the schema of the body of init; the caller's token may upload there. */
export function initFor(caller: Caller, base64: string | undefined, name: string = headers.init): SentInit {
  const { body, text } = decodeInit(base64, name);
  const init = { body: checked<InitBody>(body, 'Init', name), text };
  requireDirInScope(caller, targetDir(init.body));
  return init;
}
