/** The page's worker: keys, encryption and transfers. It is asked by messages and answers by messages. */

import { requireUser } from '../accounts/same-account.worker.ts';
import { SignedIn } from '../accounts/session.worker.ts';
import { answerBy, type Handlers, say } from '../core/answer.worker.ts';
import type { Calls } from '../core/bridge/calls.ts';
import { uploadNotes } from '../core/database.worker.ts';
import { Cabinet } from '../files/file-index.worker.ts';
import { Operations } from '../files/operations.worker.ts';
import { Thumbnails } from '../files/thumbnails/thumbnails.worker.ts';
import { listLinks, makeLink, shareItems } from '../sharing/links.worker.ts';
import { eitherShelf, listedContact, Received, shareWith } from '../sharing/received.worker.ts';
import { Requests } from '../sharing/requests.worker.ts';
import { fileHandlers } from '../transfers/reading.worker.ts';
import { Transfers } from '../transfers/transfers.worker.ts';

const signedIn = new SignedIn((reachable) => say({ reachable }), forgetFiles);
const cabinet = new Cabinet(() => signedIn.szafa);
const received = new Received(() => signedIn.szafa);
const requests = new Requests(() => signedIn.szafa);
const thumbnails = new Thumbnails();
const operations = new Operations(
  () => signedIn.szafa,
  cabinet,
  (progress) => say({ progress }),
);
const transfers = new Transfers(
  () => signedIn.szafa,
  (progress) => say({ progress }),
);

function forgetFiles(): void {
  transfers.stopAll();
  cabinet.clear();
  received.clear();
  requests.clear();
  thumbnails.clear();
  operations.clear();
}

const handlers: Handlers<Calls> = {
  ...fileHandlers(transfers, eitherShelf(cabinet, received)),
  login: (username, password, second) => signedIn.login(username, password, second),
  offersPasskeys: () => signedIn.offersPasskeys(),
  passkeyChallenge: () => signedIn.passkeyChallenge(),
  loginWithPasskey: (answer, secret) => signedIn.loginWithPasskey(answer, secret),
  newPasskey: () => signedIn.newPasskey(),
  addPasskey: (password, name, made) => signedIn.addPasskey(password, name, made),
  removePasskey: (password, id) => signedIn.removePasskey(password, id),
  register: (username, password, wishes) => signedIn.register(username, password, wishes),
  registration: () => signedIn.registration(),
  recover: (username, recoveryKey, password) => signedIn.recover(username, recoveryKey, password),
  restore: () => signedIn.restore(),
  isKept: () => signedIn.isKept(),
  async leave(tellService) {
    forgetFiles();
    return signedIn.leave(tellService);
  },
  async expire() {
    forgetFiles();
    return signedIn.expire();
  },
  overview: () => signedIn.overview(),
  changePassword: (current, next) => signedIn.changePassword(current, next),
  newRecoveryKey: () => signedIn.newRecoveryKey(),
  setRecoveryKey: (password, typed) => signedIn.setRecoveryKey(password, typed),
  newTotp: () => signedIn.newTotp(),
  setTotp: (password, secret, code) => signedIn.szafa.setTotp({ password }, secret, code),
  removeTotp: (password, second) => signedIn.szafa.removeTotp({ password }, second),
  endSession: (id) => signedIn.szafa.endSession(id),
  endOtherSessions: () => signedIn.szafa.endOtherSessions(),
  deleteAccount: (password) => signedIn.deleteAccount(password, forgetFiles),
  list: () => cabinet.list(),
  changes: () => signedIn.szafa.api.call('changes').then(({ rev }) => rev),
  listTrash: () => operations.listTrash(),
  makeFolder: (path) => operations.makeFolder(path),
  rename: (id, moves) => operations.rename(id, moves),
  copy: (id, copies, folders) => operations.copy(id, copies, folders),
  recordsOf: async (paths) => operations.recordsOf(paths),
  trash: (id, paths) => operations.trash(id, paths),
  restoreFiles: (id, fileIds, folders) => operations.restore(id, fileIds, folders),
  removeFiles: (id, fileIds) => operations.remove(id, fileIds),
  versions: (path) => cabinet.versions(path),
  restoreVersion: (fileId) => operations.restoreVersion(fileId),
  trashVersion: (fileId) => operations.trashVersion(fileId),
  thumbnail: (fileId) => thumbnails.of(fileId, cabinet.picturesOf(fileId)),
  makeThumbnail: (fileId) => thumbnails.make(fileId, cabinet.picturesOf(fileId)),
  async remember(notes) {
    for (const { username } of notes) requireUser(signedIn.szafa, username);
    await uploadNotes.keep(notes);
  },
  async remembered() {
    const { username } = signedIn.szafa;
    return (await uploadNotes.all()).filter((note) => note.username === username);
  },
  upload: (note, file) => transfers.upload(note, file, cabinet.newestGen(note.path)),
  stored: (note) => transfers.stored(note),
  abandon: (note) => transfers.abandon(note),
  offersLinks: () => signedIn.offersLinks(),
  makeLink: (id, paths, wishes) =>
    transfers.run(id, (signal) =>
      makeLink(signedIn.szafa, shareItems(cabinet, paths), wishes, {
        signal,
        tell: (progress) => say({ progress: { id, ...progress } }),
      }).finally(() => cabinet.forgetOpened()),
    ),
  links: () => listLinks(signedIn.szafa),
  endLink: (id) => signedIn.szafa.endShare(id),
  makeRequest: (wishes) => requests.make(wishes),
  requests: () => requests.list(),
  endRequest: (id) => signedIn.szafa.endRequest(id),
  takeOver: (fileIds, folder) => requests.takeOver(fileIds, folder),
  dropDelivery: (fileId) => requests.drop(fileId),
  shareWith: (id, paths, username, wishes) =>
    transfers.run(id, (signal) =>
      shareWith(signedIn.szafa, username, shareItems(cabinet, paths), wishes, {
        signal,
        tell: (progress) => say({ progress: { id, ...progress } }),
      }).finally(() => cabinet.forgetOpened()),
    ),
  received: () => received.list(),
  openReceived: (id) => received.files(id),
  putAway: (id) => signedIn.szafa.endReceived(id),
  ownFingerprint: () => signedIn.szafa.fingerprint(),
  contacts: () => received.contacts(),
  contact: (username) => received.contact(username),
  verifyContact: async (username) => listedContact(await signedIn.szafa.verifyContact(username)),
  acceptContact: async (username, fingerprint) =>
    listedContact(await signedIn.szafa.acceptContact(username, fingerprint)),
};

answerBy<Calls>(handlers);
