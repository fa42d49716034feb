export * from '../index.ts';
export { forEach } from '../pool.ts';
export { type NodeEngine, type NodeEngineOptions, nodeEngine } from './engine/engine.ts';
export { diskPath, givenPath, namesIn, pathText } from './files/disk-path.ts';
export { FileSource, fileSource } from './files/file-source.ts';
export { makeLocalFolder } from './files/folders.ts';
export { type LocalState, localState } from './files/local-state.ts';
export { exactTime, isSameTime, type KeptTime, setLinkTime, setTime } from './files/times.ts';
export { readIfPresent, writeAtomic } from './state/atomic-file.ts';
export { type FileHeaders, type FileHeadersOptions, fileHeaders } from './state/header-cache.ts';
export { fileJournal } from './state/journal.ts';
export { fileContacts, filePins, fileRevs } from './state/pins.ts';
export {
  type DownloadOptions,
  type DownloadResult,
  downloadToFile,
  TargetExistsError,
} from './transfers/download.ts';
export {
  abandonDownload,
  downloadLock,
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
