/** The page's worker: keys, encryption and transfers. It is asked by messages and answers by messages. */
import { ApiError, FactorError, SzafaError, TamperedError } from '@szafa/client';
import { RuleError } from '@szafa/protocol';
import type { CallName, Calls, Fault, FromWorker, ToWorker, Zip } from '../bridge.ts';
import { SignedIn } from './account.ts';
import { Cabinet } from './cabinet.ts';
import { kept } from './database.ts';
import { Operations } from './operations.ts';
import { RefusedError, serveFile, serveZip } from './outlet.ts';
import { Thumbnails } from './thumbnails.ts';
import { StoppedError, Transfers } from './transfers.ts';
import { zippedFiles } from './zipped-files.ts';

const scope = globalThis as unknown as {
  postMessage(message: FromWorker, transfer?: Transferable[]): void;
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
};
const say = (message: FromWorker, transfer: Transferable[] = []) => scope.postMessage(message, transfer);
/** A tile has left the sight of whoever waited by then. */
const THUMBNAIL_MS = 30_000;

const signedIn = new SignedIn((reachable) => say({ reachable }));
const cabinet = new Cabinet(() => signedIn.szafa);
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

const zipOf = (id: string, wish: Zip) => (signal: AbortSignal) =>
  zippedFiles(wish, (...args) => cabinet.openOnce(...args), signal, transfers.teller(id));
function forgetFiles(): void {
  transfers.stopAll();
  cabinet.clear();
  thumbnails.clear();
}

type Handlers = {
  [N in CallName]: (...args: [...Parameters<Calls[N]>, MessagePort?]) => Promise<ReturnType<Calls[N]>>;
};

const handlers: Handlers = {
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
  async leave(tellService) {
    forgetFiles();
    await signedIn.leave(tellService);
  },
  async expire() {
    forgetFiles();
    await signedIn.expire();
  },
  overview: () => signedIn.overview(),
  changePassword: (current, next) => signedIn.changePassword(current, next),
  newRecoveryKey: (password) => signedIn.newRecoveryKey(password),
  newTotp: () => signedIn.newTotp(),
  setTotp: (password, secret, code) => signedIn.szafa.setTotp({ password }, secret, code),
  removeTotp: (password, second) => signedIn.szafa.removeTotp({ password }, second),
  endSession: (id) => signedIn.szafa.endSession(id),
  endOtherSessions: () => signedIn.szafa.endOtherSessions(),
  async deleteAccount(password) {
    await signedIn.deleteAccount(password);
    forgetFiles();
  },
  list: () => cabinet.list(),
  changes: () => signedIn.szafa.api.changes(),
  listTrash: () => operations.listTrash(),
  makeFolder: (path) => operations.makeFolder(path),
  rename: (id, moves) => operations.rename(id, moves),
  copy: (id, copies) => operations.copy(id, copies),
  trash: (id, paths) => operations.trash(id, paths),
  restoreFiles: (id, fileIds) => operations.restore(id, fileIds),
  removeFiles: (id, fileIds) => operations.remove(id, fileIds),
  emptyTrash: () => operations.emptyTrash(),
  versions: (path) => cabinet.versions(path),
  restoreVersion: (fileId) => operations.restoreVersion(fileId),
  trashVersion: (fileId) => operations.trashVersion(fileId),
  info: (fileId) => cabinet.info(fileId),
  readText: (fileId, most) => cabinet.readText(fileId, most),
  thumbnail: (fileId) => thumbnails.of(fileId, cabinet.picturesOf(fileId, AbortSignal.timeout(THUMBNAIL_MS))),
  remember: (notes) => kept.keepNotes(notes),
  async remembered() {
    const { username } = signedIn.szafa;
    return (await kept.notes()).filter((note) => note.username === username);
  },
  upload: (note, file) => transfers.upload(note, file, cabinet.newestGen(note.path)),
  stored: (note) => transfers.stored(note),
  abandon: (note) => transfers.abandon(note),
  async save(id, fileId, handle) {
    const remote = await cabinet.open(fileId);
    const onProgress = transfers.teller(id);
    await transfers.save(id, (signal) => remote.pieces({ signal, onProgress }), handle);
  },
  saveZip: (id, wish, handle) => transfers.save(id, zipOf(id, wish), handle),
  async serve(id, fileId, request, port) {
    const remote = await cabinet.open(fileId).catch((error: unknown) => {
      port!.postMessage(null);
      throw error;
    });
    const tell = transfers.teller(id);
    await transfers.run(id, (signal) => serveFile(remote, request, port!, signal, tell));
  },
  serveZip: (id, wish, port) =>
    transfers.run(id, (signal) => serveZip(wish.name, zipOf(id, wish), port!, signal)),
  stop: async (id) => transfers.stop(id),
};

function faultOf(error: unknown): Fault {
  if (error instanceof ApiError) {
    const { code, message, status, retryAfter } = error;
    return { code, message, status, ...(retryAfter !== undefined && { retryAfter }) };
  }
  if (error instanceof FactorError) {
    const { code, message, factors, passkey } = error;
    return { code, message, factors, ...(passkey && { passkey }) };
  }
  if (error instanceof TamperedError) {
    const { aboutKeys, code, message, stage } = error;
    return { code: aboutKeys ? 'keys' : code, message, stage };
  }
  if (error instanceof SzafaError || error instanceof StoppedError || error instanceof RefusedError)
    return { code: error.code, message: error.message };
  if (error instanceof RuleError) return { code: 'rule', message: error.message };
  const { name, message } = error as Error;
  return { code: name === 'AbortError' ? 'stopped' : 'unexpected', message };
}

scope.onmessage = async ({ data: { call, name, args, port } }) => {
  try {
    const handler = handlers[name] as (...args: unknown[]) => Promise<unknown>;
    const value = await handler(...args, ...(port ? [port] : []));
    say({ call, value }, value instanceof ImageBitmap ? [value] : []);
  } catch (error) {
    say({ call, fault: faultOf(error) });
  }
};
