/** What an operator asks of an account. */
import { type AccountDetails, type AuditRecord, pathOf } from '@szafa/protocol';
import { admin, assertOk, type Service, type User } from '../harness/index.ts';

export const of = (user: User) => ({ username: user.username });
export const show = async (from: Service, user: User): Promise<AccountDetails> => {
  const answer = await admin(from).get(pathOf('showAccount', of(user)));
  assertOk(answer);
  return answer.json as unknown as AccountDetails;
};
export const logIn = (from: Service, { username, password }: User) =>
  from.call({ method: 'POST', path: pathOf('login'), json: { username, password } });
export const auditOf = async (from: Service, account: string): Promise<AuditRecord[]> => {
  const answer = await admin(from).get(`${pathOf('audit')}?account=${account}`);
  assertOk(answer);
  return answer.json['entries'] as AuditRecord[];
};
export const actions = async (from: Service, user: User) =>
  (await auditOf(from, user.username)).map(({ actor, action, detail }) => [actor, action, detail]);
