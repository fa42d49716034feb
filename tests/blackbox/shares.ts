/** A file that is shared by a link, and who was given it. */
import { createHash, randomBytes } from 'node:crypto';
import { headers, type ListedShare, pathOf, type ShareBody } from '@szafa/protocol';
import {
  type Answer,
  assertOk,
  type MadeFile,
  makeFile,
  register,
  type Service,
  type User,
  upload,
  useService,
} from '../harness/index.ts';

export const service = useService();

export const random = (bytes: number) => randomBytes(bytes).toString('base64url');
export const digest = (text: string) => createHash('sha256').update(text).digest('hex');

/** What somebody who was given a link can do. */
export class Visitor {
  readonly #service: Service;
  readonly id: string;
  readonly access: string;

  constructor(at: Service, id: string, access: string) {
    this.#service = at;
    this.id = id;
    this.access = access;
  }

  open(ticket?: string, access = this.access): Promise<Answer> {
    const said = { [headers.shareAccess]: access, ...(ticket && { [headers.shareTicket]: ticket }) };
    return this.#service.call({
      method: 'GET',
      path: pathOf('openShare', { share_id: this.id }),
      headers: said,
    });
  }

  take(ticket: string, access = this.access): Promise<Answer> {
    const path = pathOf('takeTicket', { share_id: this.id });
    const said = { [headers.shareAccess]: access };
    return this.#service.call({ method: 'POST', path, headers: said, json: { ticket } });
  }

  read(ticket: string, number: number, idx: number, more: Record<string, string> = {}): Promise<Answer> {
    const path = pathOf('readSharedVolume', { share_id: this.id, number, idx });
    return this.#service.call({ method: 'GET', path, headers: { [headers.shareTicket]: ticket, ...more } });
  }
}

interface Shared {
  owner: User;
  visitor: Visitor;
  file: MadeFile;
  fileId: string;
  body: ShareBody;
}

export function bodyOf(files: string[], access: string, over: Partial<ShareBody> = {}): ShareBody {
  return { id: random(16), files, header: random(300), access: digest(access), own: random(60), ...over };
}

export async function share(over: Partial<ShareBody> = {}, at = service): Promise<Shared> {
  const owner = await register(at);
  const { fileId, file } = await upload(
    owner,
    makeFile([1000, 5000], { enc_params: { secret: 'of the owner' } }),
  );
  const access = random(32);
  const body = bodyOf([fileId], access, over);
  assertOk(await owner.post(pathOf('createShare'), body), { ok: true });
  return { owner, visitor: new Visitor(at, body.id, access), file, fileId, body };
}

export async function listed(owner: User): Promise<ListedShare[]> {
  const answer = await owner.get(pathOf('listShares'));
  assertOk(answer);
  return answer.json['shares'] as ListedShare[];
}

export const end = (owner: User, id: string) => owner.delete(pathOf('endShare', { share_id: id }));
