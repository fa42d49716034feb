/** The location of the objects: `s3://bucket/prefix?endpoint=https://host:port&region=name`. */
export interface S3Location {
  bucket: string;
  /** Empty, or ends with a slash. */
  prefix: string;
  endpoint: URL;
  region: string;
}

export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
}

export class S3LocationError extends Error {
  override name = 'S3LocationError';
}

export function parseS3Location(text: string): S3Location {
  const found = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,62})(?:\/([^?]*))?(?:\?(.*))?$/.exec(text);
  if (!found)
    throw new S3LocationError('must look like s3://bucket/prefix?endpoint=https://host&region=name');
  const [, bucket = '', rawPrefix = '', query = ''] = found;
  const prefix = rawPrefix.replace(/^\/+|\/+$/g, '');
  if (!/^[A-Za-z0-9._/-]*$/.test(prefix)) {
    throw new S3LocationError('has a prefix with characters other than letters, digits, and . _ / -');
  }
  const params = new URLSearchParams(query);
  for (const name of params.keys()) {
    if (name !== 'endpoint' && name !== 'region') throw new S3LocationError(`has an unknown option ${name}`);
  }
  const region = params.get('region') || 'us-east-1';
  const endpoint = URL.parse(params.get('endpoint') || `https://s3.${region}.amazonaws.com`);
  if (!endpoint || !/^https?:$/.test(endpoint.protocol) || endpoint.pathname !== '/') {
    throw new S3LocationError('has an endpoint that does not look like https://host:port');
  }
  return { bucket, prefix: prefix === '' ? '' : `${prefix}/`, endpoint, region };
}
