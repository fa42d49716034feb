/** A request for files, and who was given its link. */
import { headers, type ListedRequest, pathOf, type RequestBody, type UploadBody } from '@szafa/protocol';
import {
  type Answer,
  assertOk,
  completeStreamed,
  type MadeFile,
  makeFile,
  putStreamed,
  register,
  type Service,
  STRICT_QUOTA,
  User,
  useService,
} from '../harness/index.ts';
import { digest, random } from './shares.ts';

export const service = useService();
export const strict = useService(STRICT_QUOTA);

/** What somebody who was given a link can do. */
export class Visitor {
  readonly service: Service;
  readonly id: string;
  readonly access: string;

  constructor(at: Service, id: string, access: string) {
    this.service = at;
    this.id = id;
    this.access = access;
  }

  open(access = this.access): Promise<Answer> {
    const path = pathOf('openRequest', { request_id: this.id });
    return this.service.call({ method: 'GET', path, headers: { [headers.shareAccess]: access } });
  }

  begin(
    file: MadeFile,
    token = random(32),
    over: Partial<Record<keyof UploadBody, unknown>> = {},
    more: Record<string, string> = {},
  ): Promise<Answer> {
    const { chunk_count, chunks } = file.init;
    const sizes = chunks.map(({ size }) => ({ size }));
    return this.service.call({
      method: 'POST',
      path: pathOf('beginUpload', { request_id: this.id }),
      headers: { [headers.shareAccess]: this.access, ...more },
      json: { upload_token: token, chunk_count, chunks: sizes, ...over },
    });
  }

  /** An upload that was begun. */
  async upload(file: MadeFile): Promise<{ user: User; transferId: string }> {
    const token = random(32);
    const answer = await this.begin(file, token);
    assertOk(answer);
    return { user: new User(this.service, '', '', token), transferId: String(answer.json['transfer_id']) };
  }

  /** The whole way. */
  async send(file: MadeFile): Promise<string> {
    const { user, transferId } = await this.upload(file);
    for (const [at, bytes] of file.volumes.entries())
      assertOk(await putStreamed(user, transferId, at + 1, bytes), { ok: true });
    const answer = await completeStreamed(user, transferId, file);
    assertOk(answer);
    return String(answer.json['file_id']);
  }
}

export function bodyOf(access: string, over: Partial<RequestBody> = {}): RequestBody {
  const texts = { id: random(16), header: random(33), access: digest(access), own: random(60) };
  return { ...texts, max_files: 5, max_bytes: 100_000, ...over };
}

export async function ask(
  over: Partial<RequestBody> = {},
  at = service,
  expiresIn?: number,
): Promise<{ owner: User; visitor: Visitor; body: RequestBody }> {
  const owner = await register(at);
  const access = random(32);
  const until = expiresIn && { expires_at: new Date(Date.now() + expiresIn).toISOString() };
  const body = bodyOf(access, { ...over, ...until });
  assertOk(await owner.post(pathOf('createRequest'), body), { ok: true });
  return { owner, visitor: new Visitor(at, body.id, access), body };
}

export async function listed(owner: User): Promise<ListedRequest[]> {
  const answer = await owner.get(pathOf('listRequests'));
  assertOk(answer);
  return answer.json['requests'] as ListedRequest[];
}

export const end = (owner: User, id: string) => owner.delete(pathOf('endRequest', { request_id: id }));
export const file = (sizes: number[] = [4096, 404]) =>
  makeFile(sizes, { enc_params: { sealed: 'by a visitor' } });
