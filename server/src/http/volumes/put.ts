import { STATUS_CODES } from 'node:http';
import { routes } from '@szafa/protocol';
import { shortened } from '../../log.ts';
import type { Services } from '../../services.ts';
import { BrokenOff } from '../../volumes/body.ts';
import { addressOf } from '../client-address.ts';
import { BROKEN_OFF, describe, logFault } from '../errors.ts';
import { readInit } from '../init-header.ts';
import { countFault, countReceived } from '../metrics.ts';
import { urlOf } from '../schemas.ts';
import type { Answer, VolumeHandler } from './lane.ts';

const volumeUrl = urlOf(routes.writeVolume);
const fileUrl = urlOf(routes.writeFile);

export const fileDone = (fileId: string) => ({ status: 'done', file_id: fileId });

/** PUT of a volume, or of a file of one volume, along the fast lane: the same checks, answers and log lines as the route has. */
export function volumeHandler({ accounts, transfers, config, log, metrics }: Services): VolumeHandler {
  return async (head, body, begin, remote, reqId) => {
    const startedAt = performance.now();
    let user: string | undefined;
    let answer: Answer;
    try {
      const { authorization, transferId, idx, length } = head;
      let done: object = { ok: true };
      if (idx !== undefined) {
        const { caller, transfer } = await accounts.identifyWithTransfer(authorization, transferId);
        user = caller.username;
        await transfers.receive(transferId, transfer, idx, body, length, begin);
      } else {
        const caller = await accounts.identifyWithAccount(authorization);
        user = caller.username;
        const init = readInit(head.init);
        done = fileDone(await transfers.receiveFile(transferId, init, caller, body, length, begin));
      }
      countReceived(metrics, length);
      answer = { status: 200, reason: 'OK', body: done };
    } catch (error) {
      const { status, body } = describe(error);
      countFault(metrics, error);
      const brokenOff = error instanceof BrokenOff;
      if (!brokenOff) logFault(log.child({ reqId }), error, status);
      answer = {
        status: brokenOff ? BROKEN_OFF : status,
        reason: STATUS_CODES[status] ?? '',
        body,
      };
    }
    const ms = performance.now() - startedAt;
    const url = head.idx === undefined ? fileUrl : volumeUrl;
    metrics.request(url, 'PUT', answer.status, ms);
    log.info({
      reqId,
      method: 'PUT',
      route: url,
      status: answer.status,
      ms: Math.round(ms * 10) / 10,
      ...(user ? { user } : {}),
      transfer: shortened(head.transferId),
      ...(head.idx === undefined ? {} : { volume: String(head.idx) }),
      ip: addressOf(remote, head.forwardedFor, config.trustProxy),
    });
    return answer;
  };
}
