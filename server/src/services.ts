/** The composition root: builds all services from the stores and the settings. */
import { readFile } from 'node:fs/promises';
import { Accounts } from './accounts/accounts.ts';
import { AccountDeletion } from './accounts/deletion.ts';
import { Sessions } from './accounts/sessions.ts';
import type { Config } from './config.ts';
import { unblockStdout } from './fastlane/stdout.ts';
import { Files } from './files/files.ts';
import { Thumbnails } from './files/thumbnails.ts';
import { Metadata } from './metadata.ts';
import { guarded, Mode } from './operator/mode.ts';
import { openRateLimiter, openSpace } from './platform/cluster/shared-limits.ts';
import type { VolumeRejected } from './platform/errors.ts';
import { countFault } from './platform/http/request-log.ts';
import { createLog } from './platform/log/log.ts';
import { Metrics } from './platform/metrics/registry.ts';
import { Requests } from './sharing/requests.ts';
import { Shares } from './sharing/shares.ts';
import { openDatabase, openSettledVolumes, paths } from './stores.ts';
import { Completion } from './transfers/completion.ts';
import { IncomingVolumes } from './transfers/incoming-volumes.ts';
import { Pulls } from './transfers/pull/pulls.ts';
import { ReceivedVolumes } from './transfers/received-volumes.ts';
import { SingleVolumeFiles } from './transfers/single-volume-files.ts';
import { Transfers } from './transfers/transfers.ts';
import { Custody } from './upkeep/custody.ts';

export async function openServices(config: Config, processName: string, node = processName) {
  const log = createLog(config.logLevel, { unblock: unblockStdout });
  const metrics = new Metrics();
  const metadata = new Metadata(await openDatabase(config));
  const mode = new Mode(metadata);
  const volumes = guarded(openSettledVolumes(config, processName, metadata, metrics), mode);
  const systemToken = config.systemToken ?? (await readFile(paths.systemToken(config), 'utf8')).trim();
  const onFailure = (reason: 'wrong' | 'limit') => metrics.add('szafa_login_failures_total', { reason });
  const accounts = new Accounts(metadata, config, { onFailure });
  const sessions = new Sessions(metadata, config, systemToken);
  const accountDeletion = new AccountDeletion(metadata, volumes);
  const space = openSpace(config);
  const custody = new Custody({ metadata, volumes, config, log });
  const files = new Files({ metadata, volumes, space, config, custody });
  const transfers = new Transfers({ metadata, volumes, space, config });
  const receivedVolumes = new ReceivedVolumes({ metadata, volumes });
  const parts = { metadata, volumes, space, config, transfers, receivedVolumes };
  const incomingVolumes = new IncomingVolumes(parts);
  const completion = new Completion(parts);
  const singleVolumeFiles = new SingleVolumeFiles(parts);
  const onRejected = (error: VolumeRejected) => countFault(metrics, error);
  const pulls = new Pulls({ ...parts, runner: processName, node, onRejected });
  const rateLimiter = openRateLimiter();
  const thumbnails = new Thumbnails({ metadata, volumes, files, space, rateLimiter, config });
  const shares = new Shares({
    ...{ metadata, volumes, rateLimiter, config },
    onDownload: () => metrics.add('szafa_share_downloads_total', {}),
    onRefusal: (reason) => metrics.add('szafa_share_refusals_total', { reason }),
  });
  const requests = new Requests({
    ...{ metadata, transfers, rateLimiter, config },
    onUpload: () => metrics.add('szafa_request_uploads_total', {}),
    onRefusal: (reason) => metrics.add('szafa_request_refusals_total', { reason }),
  });
  return {
    ...{ config, log, metrics, metadata, volumes, custody, mode, rateLimiter },
    ...{ accounts, sessions, accountDeletion, shares, requests },
    ...{ files, thumbnails, transfers, incomingVolumes, completion, singleVolumeFiles, pulls },
  };
}

/** All services of a process. */
export interface Services extends Awaited<ReturnType<typeof openServices>> {
  /** The metrics of all processes of this node, in Prometheus' text format. */
  nodeMetrics: () => Promise<string>;
}
