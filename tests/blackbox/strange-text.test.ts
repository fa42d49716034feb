/** Every route of the table with texts that a database may refuse: NUL, and half of a surrogate pair. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { headers, InitBody, type Route, type RouteName, routes } from '@szafa/protocol';
import {
  admin,
  assertUnharmed,
  begin,
  type Call,
  listFiles,
  makeDir,
  makeFile,
  newTransferId,
  register,
  upload,
  useService,
} from '../harness/index.ts';

const service = useService();

/** Strange texts in place of a valid one. */
const STRANGE: ((valid: string) => string)[] = [
  () => '\0',
  () => 'text\0inside',
  () => '\ud800 a lone surrogate',
  (valid) => `${valid}\0`,
];

interface Schema {
  type?: string;
  const?: unknown;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  pattern?: string;
  minimum?: number;
}

/** Valid texts by the names of parameters and members. */
type Values = Record<string, string>;

function sampleText(name: string, { pattern = '' }: Schema, values: Values): string {
  const length = Number(/\{(\d+)/.exec(pattern)?.[1] ?? 1);
  const samples = [values[name] ?? '', 'A'.repeat(22), '0'.repeat(length), 'A'.repeat(length)];
  return samples.find((text) => text !== '' && new RegExp(pattern).test(text)) ?? 'text';
}

/** A value that obeys the schema, without optional members. */
function sample(name: string, schema: Schema, values: Values): unknown {
  const { type, anyOf, properties = {}, required = [], items } = schema;
  if (anyOf) return sample(name, anyOf[0]!, values);
  if ('const' in schema) return schema.const;
  if (type === 'string') return sampleText(name, schema, values);
  if (type === 'array') return [sample(name, items!, values)];
  if (type === 'integer') return schema.minimum ?? 1;
  if (type !== 'object') return type === 'null' ? null : false;
  return Object.fromEntries(required.map((key) => [key, sample(key, properties[key]!, values)]));
}

/** Values like the sample, but for one text, which is strange. */
function* strangeValues(name: string, schema: Schema, values: Values): Generator<unknown> {
  const { type, anyOf, properties, items } = schema;
  for (const option of anyOf ?? []) yield* strangeValues(name, option, values);
  if (type === 'string' && !('const' in schema)) {
    for (const strange of STRANGE) yield strange(sampleText(name, schema, values));
  }
  if (type === 'array') for (const value of strangeValues(name, items!, values)) yield [value];
  if (type !== 'object') return;
  const plain = sample(name, schema, values) as object;
  for (const [key, member] of Object.entries(properties ?? {})) {
    for (const value of strangeValues(key, member, values)) yield { ...plain, [key]: value };
  }
  // Any JSON object: enc_params.
  if (Object.keys(properties ?? {}).length === 0) {
    for (const strange of STRANGE) yield { [strange('key')]: strange('value') };
  }
}

/** Percent-encodes a lone surrogate as well: as the three bytes that UTF-8 does not have. */
const encode = (text: string) => text.split('\ud800').map(encodeURIComponent).join('%ED%A0%80');

/** Paths with one strange parameter, or one strange member of the query. */
function* strangePaths({ path, query }: Route, values: Values): Generator<string> {
  const fill = (strangeName?: string, strange = (valid: string) => valid) =>
    path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const valid = values[name] ?? 'nosuch';
      return encode(name === strangeName ? strange(valid) : valid);
    });
  for (const [, name] of path.matchAll(/\{(\w+)\}/g)) {
    for (const strange of STRANGE) yield fill(name, strange);
  }
  for (const name of Object.keys((query as Schema | undefined)?.properties ?? {})) {
    for (const strange of STRANGE) yield `${fill()}?${name}=${encode(strange(values[name] ?? '1'))}`;
  }
}

const fillPath = ({ path }: Route, values: Values) =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => encode(values[name] ?? 'nosuch'));

/** All requests with one strange text to a route. */
function* strangeCalls(name: RouteName, values: Values): Generator<Omit<Call, 'token'>> {
  const route: Route = routes[name];
  const { method, body, rawBody } = route;
  for (const path of strangePaths(route, values)) {
    const plain = body && { json: sample(name, body as Schema, values) };
    yield { method, path, ...(rawBody ? { body: 'x' } : plain) };
  }
  const path = fillPath(route, values);
  if (body) {
    for (const json of strangeValues(name, body as Schema, values)) yield { method, path, json };
  }
  if (name !== 'writeFile' && name !== 'writeFiles') return;
  for (const init of strangeValues('init', InitBody as unknown as Schema, values)) {
    const base64 = Buffer.from(JSON.stringify(init)).toString('base64');
    const head = { files: [{ transfer_id: newTransferId(), init: base64, size: 1 }] };
    if (name === 'writeFile') yield { method, path, body: 'x', headers: { [headers.init]: base64 } };
    else yield { method, path, body: `${JSON.stringify(head)}\nx` };
  }
}

test('NUL and lone surrogates in paths, queries and bodies are no fault of the server, on any route', async () => {
  const user = await register(service);
  const { fileId } = await upload(user);
  const transferId = await begin(user, makeFile([1]));
  const values = {
    username: user.username,
    password: user.password,
    current: user.password,
    device: 'device',
    name: 'name',
    file_name: 'name',
    file_id: fileId,
    files: fileId,
    transfer_id: transferId,
    dir_id: String(await makeDir(user)),
    idx: '1',
    number: '1',
  };
  let calls = 0;
  const faults: string[] = [];
  for (const name of Object.keys(routes) as RouteName[]) {
    const { access } = routes[name];
    // Its password would change.
    const caller = name === 'changePassword' ? await register(service) : user;
    const token = access === 'system' ? admin(service).token : caller.token;
    for (const call of strangeCalls(name, { ...values, current: caller.password })) {
      calls++;
      const { status, excerpt } = await service.call({ ...call, ...(access !== 'open' && { token }) });
      if (status >= 500) faults.push(`${name} ${JSON.stringify(call)}: ${status} ${excerpt}`);
    }
  }
  assert.deepEqual(faults, []);
  assert.ok(calls > 500, `only ${calls} calls`);
  assert.ok((await listFiles(user)).some(({ file_id }) => file_id === fileId));
  await assertUnharmed(service);
});
