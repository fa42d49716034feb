/** Tokens of every scope, and what each of them may. */
import assert from 'node:assert/strict';
import { contentDigest, headers, pathOf, type RouteName, routes, type Scope } from '@szafa/protocol';
import {
  type Answer,
  assertOk,
  freshName,
  makeDir,
  makeFile,
  newTransferId,
  type User as Person,
  putFile,
  sha256,
  User,
  useService,
} from '../harness/index.ts';

export const service = useService();

/** Tokens by their letters: full, read and append, for the whole account and (small) for one directory. */
export const KINDS = { F: 'full', R: 'read', A: 'append', f: 'full', r: 'read', a: 'append' } as const;
export type Kind = keyof typeof KINDS;
export const kinds = Object.keys(KINDS) as Kind[];
export const isPlaced = (kind: Kind) => kind === kind.toLowerCase();

export const OPEN = 'open';
const SYSTEM = '';
/**
 * Which of them may use which route. Written down here once more, and by hand: a line that changes in the table of
 * routes has to change here too.
 */
export const MAY: Record<RouteName, string> = {
  register: OPEN,
  login: OPEN,
  readProfile: OPEN,
  me: 'FRAfra',
  logout: 'FRAfra',
  createToken: 'F',
  readKeys: 'FRAfra',
  writeKeys: 'F',
  changePassword: 'F',
  recover: OPEN,
  finishRecovery: OPEN,
  leave: 'F',
  factors: 'F',
  setTotp: 'F',
  removeTotp: 'F',
  passkeyChallenge: OPEN,
  passkeyLogin: OPEN,
  newPasskey: 'F',
  addPasskey: 'F',
  removePasskey: 'F',
  listSessions: 'F',
  endSession: 'F',
  endSessions: 'F',
  quota: 'FRAfra',
  createDir: 'FA',
  listDirs: 'FRAfra',
  renameDir: 'F',
  deleteDir: 'F',
  listFiles: 'FRAfra',
  deleteFile: 'Ff',
  moveFile: 'Ff',
  cloneFile: 'Ff',
  renameFiles: 'F',
  trashFiles: 'Ff',
  restoreFiles: 'Ff',
  listTrash: 'FRAfra',
  readTrashed: 'F',
  emptyTrash: 'F',
  changes: 'FRAfra',
  readVolume: 'FRfr',
  readHeader: 'FRAfra',
  writeThumbnail: 'FAfa',
  readDigests: 'FRfr',
  readThumbnail: 'FRfr',
  readThumbnails: 'FRfr',
  init: 'FAfa',
  received: 'FAfa',
  writeVolume: 'FAfa',
  writeFile: 'FAfa',
  writeFiles: 'FAfa',
  pull: 'FAfa',
  pullStatus: 'FAfa',
  complete: 'FAfa',
  cancel: 'FAfa',
  createShare: 'F',
  listShares: 'F',
  writeOwn: 'F',
  endShare: 'F',
  readIdentity: 'F',
  listReceived: 'F',
  openReceived: 'F',
  takeReceived: 'F',
  endReceived: 'F',
  openShare: OPEN,
  takeTicket: OPEN,
  readSharedVolume: OPEN,
  readSharedDigests: OPEN,
  createRequest: 'F',
  listRequests: 'F',
  endRequest: 'F',
  openRequest: OPEN,
  beginUpload: OPEN,
  service: OPEN,
  healthz: OPEN,
  readyz: OPEN,
  metrics: SYSTEM,
  openapi: OPEN,
  docs: OPEN,
  listAccounts: SYSTEM,
  showAccount: SYSTEM,
  limitAccount: SYSTEM,
  disableAccount: SYSTEM,
  enableAccount: SYSTEM,
  logoutAccount: SYSTEM,
  deleteAccount: SYSTEM,
  endAccountFactor: SYSTEM,
  invite: SYSTEM,
  listInvitations: SYSTEM,
  endInvitation: SYSTEM,
  listTransfers: SYSTEM,
  cancelTransfer: SYSTEM,
  listAllShares: SYSTEM,
  endAnyShare: SYSTEM,
  listAllRequests: SYSTEM,
  endAnyRequest: SYSTEM,
  status: SYSTEM,
  setReadOnly: SYSTEM,
  audit: SYSTEM,
};
export const names = Object.keys(routes) as RouteName[];

export async function makeToken(
  by: Person,
  scope: Scope,
  more: { dir_id?: number | null; expires_at?: string | null } = {},
): Promise<{ id: string; user: Person }> {
  const answer = await by.post(pathOf('createToken'), { device: `${scope} token`, scope, ...more });
  assertOk(answer);
  const { id, token } = answer.json;
  return { id: String(id), user: new User(service, by.username, by.password, String(token)) };
}

/** Not whatever 403: the token may not, and programs can tell. */
export function assertOutOfScope(answer: Answer, what: string, text = /^this (token|needs)/): void {
  assert.equal(answer.status, 403, `${what}: ${answer.excerpt}`);
  assert.match(String(answer.headers['www-authenticate']), /^Bearer error="insufficient_scope"$/, what);
  if (answer.body.length > 0) assert.match(String(answer.json['error']), text, what);
}

/** An account with a token of every kind, and what they are tried on. */
export class World {
  readonly owner: Person;
  readonly inside: number;
  readonly outside: number;
  readonly users: Record<Kind, Person>;

  private constructor(owner: Person, inside: number, outside: number, users: Record<Kind, Person>) {
    this.owner = owner;
    this.inside = inside;
    this.outside = outside;
    this.users = users;
  }

  static async make(): Promise<World> {
    const [username, password, keys] = [freshName(), 'secret-word', 'AQID'];
    const json = { username, password, keys };
    const answer = await service.call({ method: 'POST', path: pathOf('register'), json });
    assertOk(answer);
    const owner = new User(service, username, password, String(answer.json['token']));
    const [inside, outside] = [await makeDir(owner), await makeDir(owner)];
    const users: Partial<Record<Kind, Person>> = {};
    for (const kind of kinds) {
      users[kind] = (await makeToken(owner, KINDS[kind], isPlaced(kind) ? { dir_id: inside } : {})).user;
    }
    return new World(owner, inside, outside, users as Record<Kind, Person>);
  }

  /** One more of the kind, which may be ended. */
  async another(kind: Kind): Promise<Person> {
    return (await makeToken(this.owner, KINDS[kind], isPlaced(kind) ? { dir_id: this.inside } : {})).user;
  }

  /** A file in that directory. */
  async file(dirId: number, by = this.owner): Promise<string> {
    const answer = await putFile(by, newTransferId(), makeFile([100], { dir_id: dirId }));
    assertOk(answer);
    return String(answer.json['file_id']);
  }
}

export const putThumbnail = (user: User, file_id: string, body = Buffer.from('thumbnail')) =>
  user.call('PUT', pathOf('writeThumbnail', { file_id }), {
    body,
    headers: { [headers.contentDigest]: contentDigest(sha256(body)) },
  });
