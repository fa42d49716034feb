/** `@tus/server` with its file store, as its documentation shows: node tus-server.ts <folder> */
import { FileStore } from '@tus/file-store';
import { Server } from '@tus/server';

const directory = process.argv[2];
if (directory === undefined) throw new TypeError('the folder is missing');

// A client that hangs up right after the last byte of a GET ends the whole process: the body is cancelled, and undici closes the
// cancelled stream a moment later, outside of any promise (nodejs/undici#5715). Without this the peer dies between two
// rounds, and later cells would compare with a server that is not there.
process.on('uncaughtException', (error: NodeJS.ErrnoException) => {
  if (error.code === 'ERR_INVALID_STATE') return;
  console.error(error);
  process.exit(1);
});

const server = new Server({ path: '/files', datastore: new FileStore({ directory }) });
const listener = server.listen({ host: '127.0.0.1', port: 0 }, () => {
  const address = listener.address();
  console.log(`listening on ${typeof address === 'object' ? address?.port : address}`);
});
