export * from '../index.ts';
export { forEach } from '../pool.ts';
export { type NodeEngine, type NodeEngineOptions, nodeEngine } from './engine/engine.ts';
export { diskPath, givenPath, namesIn, pathText } from './files/disk-path.ts';
export { FileSource, fileSource } from './files/file-source.ts';
export { makeLocalFolder } from './files/folders.ts';
export { type LocalState, localState } from './files/local-state.ts';
export { exactTime, isSameTime, type KeptTime, setLinkTime, setTime } from './files/times.ts';
export { fileContacts } from './state/file-contacts.ts';
export { type FileHeaders, type FileHeadersOptions, fileHeaders } from './state/file-headers.ts';
export { fileJournal } from './state/file-journal.ts';
export { filePins } from './state/file-pins.ts';
export { fileRevs } from './state/file-revs.ts';
export { readIfThere } from './state/whole-file.ts';
export {
  type DownloadOptions,
  type DownloadResult,
  downloadToFile,
  TargetExistsError,
} from './transfers/download.ts';
export {
  abandonDownload,
  downloadClaim,
  type UnfinishedDownload,
  unfinishedDownloads,
} from './transfers/download-record.ts';
export { type PullHostOptions, pullHost } from './transfers/pull-server.ts';
export { batching } from './transport/batching.ts';
export {
  type NodeTransport,
  type NodeTransportOptions,
  nodeTransport,
  rateLimit,
} from './transport/transport.ts';
