import type { S3Times } from '../s3/client.ts';
import type { Metrics } from './registry.ts';

const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'DELETE'] as const;

/** Counts the response times and failures of the store. */
export function timesOfS3(metrics: Metrics): S3Times {
  const timers = new Map<string, (seconds: number) => void>(
    METHODS.map((method) => [method, metrics.timer('szafa_s3_request_seconds', { method })]),
  );
  const failed = (method: string) => ({ method });
  for (const method of METHODS) metrics.add('szafa_s3_failures_total', failed(method), 0);
  return {
    answered: (method, status, ms) => {
      timers.get(method)?.(ms / 1000);
      if (status >= 500) metrics.add('szafa_s3_failures_total', failed(method));
    },
    failed: (method) => metrics.add('szafa_s3_failures_total', failed(method)),
  };
}
