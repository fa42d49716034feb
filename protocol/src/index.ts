export * from './enc-params.ts';
export * from './init.ts';
export * from './limits.ts';
export * from './names.ts';
export * from './one-request.ts';
export * from './resources.ts';
export * from './routes.ts';
export * from './volume-socket.ts';
