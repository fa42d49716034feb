import { validatorOf } from '../../platform/http/compilers.ts';
import { UsageError } from './report.ts';

/** By the same rule as a request: the schema of that name. */
export function checked<T>(name: string, value: unknown): T {
  const fits = validatorOf<T>(name);
  if (fits(value)) return value;
  const [first] = fits.errors!;
  const where = first!.instancePath.replace('/', '').replaceAll('_', '-');
  throw new UsageError(`${where}: ${first!.message}`);
}
