export * from '../index.ts';
export { forEach } from '../pool.ts';
export { batching } from './batching.ts';
export { diskPath, givenPath, namesIn, pathText } from './disk-path.ts';
export { type DownloadOptions, type DownloadResult, downloadToFile, TargetExistsError } from './download.ts';
export {
  abandonDownload,
  downloadClaim,
  type UnfinishedDownload,
  unfinishedDownloads,
} from './download-record.ts';
export { type NodeEngine, type NodeEngineOptions, nodeEngine } from './engine.ts';
export { fileContacts } from './file-contacts.ts';
export { type FileHeaders, type FileHeadersOptions, fileHeaders } from './file-headers.ts';
export { fileJournal } from './file-journal.ts';
export { filePins } from './file-pins.ts';
export { fileRevs } from './file-revs.ts';
export { FileSource, fileSource } from './file-source.ts';
export { makeLocalFolder } from './folders.ts';
export { type LocalState, localState } from './local-state.ts';
export { type PullHostOptions, pullHost } from './pull-server.ts';
export { exactTime, isSameTime, type KeptTime, setLinkTime, setTime } from './times.ts';
export { type NodeTransport, type NodeTransportOptions, nodeTransport, rateLimit } from './transport.ts';
export { readIfThere } from './whole-file.ts';
