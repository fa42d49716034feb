/** Accounts with public keys, and what one shares with another. */
import { headers, pathOf, type ReceivedShare, type ShareBody } from '@szafa/protocol';
import {
  type Answer,
  assertOk,
  freshName,
  type MadeFile,
  makeFile,
  User,
  upload,
  useService,
} from '../harness/index.ts';
import { random } from './shares.ts';

export const service = useService();

export const IDENTITY_BYTES = 129;

/** An account with public keys, which are any text to the service. */
export async function person(at = service): Promise<User & { identity: string }> {
  const [username, password, identity] = [freshName(), random(9), random(IDENTITY_BYTES)];
  const json = { username, password, keys: random(50), identity };
  const answer = await at.call({ method: 'POST', path: pathOf('register'), json });
  assertOk(answer);
  return Object.assign(new User(at, username, password, String(answer.json['token'])), { identity });
}

export const identityOf = (who: User, name: string) => who.get(pathOf('readIdentity', { username: name }));
export const open = (who: User, id: string, ticket?: string) =>
  who.get(pathOf('openReceived', { share_id: id }), {
    ...(ticket && { headers: { [headers.shareTicket]: ticket } }),
  });
export const take = (who: User, id: string, ticket: string) =>
  who.post(pathOf('takeReceived', { share_id: id }), { ticket });
export const putAway = (who: User, id: string) => who.delete(pathOf('endReceived', { share_id: id }));
export const read = (id: string, ticket: string, at = service): Promise<Answer> =>
  at.call({
    method: 'GET',
    path: pathOf('readSharedVolume', { share_id: id, number: 1, idx: 1 }),
    headers: { [headers.shareTicket]: ticket },
  });

export async function received(who: User): Promise<ReceivedShare[]> {
  const answer = await who.get(pathOf('listReceived'));
  assertOk(answer);
  return answer.json['shares'] as ReceivedShare[];
}

export function bodyOf(files: string[], to: string, over: Partial<ShareBody> = {}): ShareBody {
  const sealed = { header: random(300), own: random(60), to: { username: to, letter: random(160) } };
  return { id: random(16), files, ...sealed, ...over };
}

interface Given {
  owner: User & { identity: string };
  bob: User;
  body: ShareBody;
  file: MadeFile;
  fileId: string;
}

export async function give(bob: User, over: Partial<ShareBody> = {}, at = service): Promise<Given> {
  const owner = await person(at);
  const { fileId, file } = await upload(owner, makeFile([1000], { enc_params: { secret: 'of the owner' } }));
  const body = bodyOf([fileId], bob.username, over);
  assertOk(await owner.post(pathOf('createShare'), body), { ok: true });
  return { owner, bob, body, file, fileId };
}
