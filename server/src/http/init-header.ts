import { decodeInit, InitBody, RuleError } from '@szafa/protocol';
import { Ajv, type ValidateFunction } from 'ajv';

let validate: ValidateFunction<InitBody> | undefined;

/** What X-Init says, by the schema of the body of init. */
export function readInit(header: string | undefined): InitBody {
  const init = decodeInit(header);
  // Compiled at its first use: that takes some milliseconds.
  validate ??= new Ajv().compile<InitBody>(InitBody);
  if (validate(init)) return init;
  const [first] = validate.errors!;
  throw new RuleError(`X-Init${first!.instancePath} ${first!.message}`);
}
