export * from '../index.ts';
export { memoryBudget } from './budget.ts';
export { type DownloadOptions, downloadToFile, ExistsError } from './download.ts';
export { type NodeEngine, type NodeEngineOptions, nodeEngine } from './engine.ts';
export { fileJournal, fileRings } from './file-journal.ts';
export { FileSource, fileSource } from './file-source.ts';
export { type PullHostOptions, pullHost } from './pull-server.ts';
export { type SpoolOptions, spool } from './spool.ts';
export { type NodeTransport, type NodeTransportOptions, nodeTransport, rateLimit } from './transport.ts';
