import assert from 'node:assert/strict';
import { test } from 'node:test';
import { percentEncode } from '../src/platform/percent.ts';
import { parseS3Location, S3LocationError } from '../src/platform/s3/location.ts';
import { queryString, Signer, sha256Hex } from '../src/platform/s3/signer.ts';
import { elements, encodeXml, text } from '../src/platform/s3/xml.ts';

const credentials = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
};
const host = 'examplebucket.s3.amazonaws.com';
const day = new Date('2013-05-24T00:00:00Z');
const signatureOf = (headers: Record<string, string>) =>
  /Signature=([0-9a-f]{64})$/.exec(headers['authorization']!)?.[1];

test("signatures are those of Amazon's published examples", () => {
  const signer = new Signer(credentials, 'us-east-1');
  const common = { host, payload: sha256Hex('') };
  const object = { ...common, method: 'GET', path: '/test.txt', query: {}, headers: { range: 'bytes=0-9' } };
  assert.equal(
    signatureOf(signer.sign(object, day)),
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  );
  const lifecycle = { ...common, method: 'GET', path: '/', query: { lifecycle: '' }, headers: {} };
  assert.equal(
    signatureOf(signer.sign(lifecycle, day)),
    'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  );
  const list = { ...common, method: 'GET', path: '/', query: { prefix: 'J', 'max-keys': '2' }, headers: {} };
  assert.equal(
    signatureOf(signer.sign(list, day)),
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  );
});

test("a signed address is that of Amazon's published example", () => {
  const signer = new Signer(credentials, 'us-east-1');
  const query = signer.presign({ method: 'GET', host, path: '/test.txt', query: {} }, 86_400, day);
  assert.equal(
    queryString(query),
    'X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request' +
      '&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400' +
      '&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404&X-Amz-SignedHeaders=host',
  );
});

test('the key of a day is not used on another', () => {
  const signer = new Signer(credentials, 'us-east-1');
  const request = { host, payload: sha256Hex(''), method: 'GET', path: '/', query: {}, headers: {} };
  const first = signatureOf(signer.sign(request, day));
  assert.notEqual(signatureOf(signer.sign(request, new Date('2013-05-25T00:00:00Z'))), first);
  assert.equal(signatureOf(signer.sign(request, day)), first);
});

test('paths and queries are encoded as the signature wants them', () => {
  assert.equal(percentEncode("a b/ż!'()*~"), 'a%20b%2F%C5%BC%21%27%28%29%2A~');
  assert.equal(queryString({ b: '1', a: '/', 'a-b': '' }), 'a-b=&a=%2F&b=1');
});

test('the elements of an answer are found and decoded', () => {
  const xml = '<L><C><K>a&amp;&#x7a;&#65;</K></C><C><K>b</K></C><IsTruncated>true</IsTruncated></L>';
  assert.deepEqual(elements(xml, 'C'), ['<K>a&amp;&#x7a;&#65;</K>', '<K>b</K>']);
  assert.equal(text(xml, 'K'), 'a&zA');
  assert.equal(text(xml, 'Nothing'), undefined);
  assert.equal(text(`<K>${encodeXml('<&">\'')}</K>`, 'K'), '<&">\'');
});

test('an address of a store is taken apart, or refused', () => {
  const { bucket, prefix, endpoint, region } = parseS3Location(
    's3://bucket/a/b?endpoint=https://h:1&region=r',
  );
  assert.deepEqual([bucket, prefix, endpoint.href, region], ['bucket', 'a/b/', 'https://h:1/', 'r']);
  assert.equal(parseS3Location('s3://bucket').endpoint.host, 's3.us-east-1.amazonaws.com');
  for (const wrong of ['s3://B', 's3://bucket?endpoint=ftp://h', 's3://bucket/../x?y', 'http://bucket']) {
    assert.throws(() => parseS3Location(wrong), S3LocationError, wrong);
  }
});
