/** The app's worker, which holds the keys, encrypts and transfers files. The page calls it by messages. */
import type { ShareItem } from '@szafa/client';
import { requireUser } from '../accounts/same-account.worker.ts';
import { AccountSession } from '../accounts/session.worker.ts';
import { type Handlers, post, serveCalls } from '../core/answer.worker.ts';
import type { Calls } from '../core/bridge/calls.ts';
import type { Progress } from '../core/bridge/messages.ts';
import { unfinishedUploads } from '../core/database.worker.ts';
import { forPage } from '../core/for-page.worker.ts';
import { FileIndex } from '../files/file-index.worker.ts';
import { Operations } from '../files/operations.worker.ts';
import { Thumbnails } from '../files/thumbnails/thumbnails.worker.ts';
import { makeLink, type ShareTask, shareItems, shareWith } from '../sharing/links.worker.ts';
import { contactRow, ownOrReceived, ReceivedShares } from '../sharing/received.worker.ts';
import { Requests } from '../sharing/requests.worker.ts';
import { fileHandlers } from '../transfers/reading.worker.ts';
import { Transfers } from '../transfers/transfers.worker.ts';

const session = new AccountSession((reachable) => post({ reachable }), forgetFiles);
const szafa = () => session.szafa;
const report = (progress: Progress) => post({ progress });
const fileIndex = new FileIndex(szafa);
const received = new ReceivedShares(szafa);
const requests = new Requests(szafa);
const thumbnails = new Thumbnails();
const operations = new Operations(szafa, fileIndex, report);
const transfers = new Transfers(szafa, report);

function forgetFiles(): void {
  transfers.stopAll();
  for (const one of [fileIndex, received, requests, thumbnails, operations]) one.clear();
}

/** Shares files. They must be opened again afterwards, because shared files are read with stricter checks. */
function share<T>(
  id: string,
  paths: string[],
  work: (items: ShareItem[], task: ShareTask) => Promise<T>,
): Promise<T> {
  const onProgress = (done: number, total: number) => report({ id, done, total });
  return transfers.run(id, (signal) =>
    work(shareItems(fileIndex, paths), { signal, onProgress }).finally(() => fileIndex.forgetOpened()),
  );
}

/** Returns methods as handlers under their own names. */
function methodsOf<T extends object, K extends keyof T>(target: T, ...names: K[]): Pick<T, K> {
  return Object.fromEntries(
    names.map((name) => [name, (target[name] as (...args: unknown[]) => unknown).bind(target)]),
  ) as unknown as Pick<T, K>;
}

const handlers: Handlers<Calls> = {
  ...fileHandlers(transfers, ownOrReceived(fileIndex, received)),
  ...methodsOf(
    session,
    'login',
    'loginWithPasskey',
    'register',
    'registration',
    'recover',
    'restore',
    'isStored',
  ),
  ...methodsOf(session, 'offersPasskeys', 'passkeyChallenge', 'newPasskey', 'addPasskey', 'removePasskey'),
  ...methodsOf(
    session,
    'overview',
    'changePassword',
    'newRecoveryKey',
    'setRecoveryKey',
    'newTotp',
    'offersLinks',
  ),
  ...methodsOf(fileIndex, 'list', 'versions'),
  ...methodsOf(
    operations,
    'listTrash',
    'makeFolder',
    'rename',
    'copy',
    'trash',
    'restoreFiles',
    'deleteForever',
  ),
  ...methodsOf(operations, 'restoreVersion', 'trashVersion'),
  ...methodsOf(transfers, 'storedBytes', 'cancelUpload'),
  async leave(tellServer) {
    forgetFiles();
    return session.leave(tellServer);
  },
  async expire() {
    forgetFiles();
    return session.expire();
  },
  deleteAccount: (password) => session.deleteAccount(password, forgetFiles),
  setTotp: (password, secret, code) => szafa().setTotp({ password }, secret, code),
  removeTotp: (password, second) => szafa().removeTotp({ password }, second),
  endSession: (id) => szafa().endSession(id),
  endOtherSessions: () => szafa().endOtherSessions(),
  changes: () =>
    szafa()
      .api.call('changes')
      .then(({ rev }) => rev),
  recordsOf: async (paths) => operations.recordsOf(paths),
  thumbnail: (fileId) => thumbnails.get(fileId, fileIndex.picturesOf(fileId)),
  makeThumbnail: (fileId) => thumbnails.make(fileId, fileIndex.picturesOf(fileId)),
  async storeUploads(uploads) {
    for (const { username } of uploads) requireUser(szafa(), username);
    await unfinishedUploads.store(uploads);
  },
  async storedUploads() {
    const { username } = szafa();
    return (await unfinishedUploads.all()).filter((upload) => upload.username === username);
  },
  upload: (upload, file) => transfers.upload(upload, file, fileIndex.newestGen(upload.path)),
  makeLink: (id, paths, options) =>
    share(id, paths, (items, task) => makeLink(szafa(), items, options, task)),
  shareWith: (id, paths, username, options) =>
    share(id, paths, (items, task) => shareWith(szafa(), username, items, options, task)),
  links: async () => (await szafa().links()).map(forPage),
  endLink: (id) => szafa().endShare(id),
  makeRequest: (options) => requests.make(options),
  requests: () => requests.list(),
  endRequest: (id) => szafa().endRequest(id),
  saveDeliveries: (fileIds, folder) => requests.save(fileIds, folder),
  deleteDelivery: (fileId) => requests.delete(fileId),
  received: () => received.list(),
  openReceived: (id) => received.files(id),
  removeReceived: (id) => szafa().endReceived(id),
  ownFingerprint: () => szafa().fingerprint(),
  ...methodsOf(received, 'contacts', 'contact'),
  verifyContact: async (username) => contactRow(await szafa().verifyContact(username)),
  acceptContact: async (username, fingerprint) =>
    contactRow(await szafa().acceptContact(username, fingerprint)),
};

serveCalls<Calls>(handlers);
