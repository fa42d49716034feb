/** Runs `@tus/server` with its file store, as in its documentation: node tus-server.ts <folder> */
import { FileStore } from '@tus/file-store';
import { Server } from '@tus/server';

const directory = process.argv[2];
if (directory === undefined) throw new TypeError('the folder is missing');

// If a client disconnects right after the last byte of a GET, undici closes the cancelled body outside of any promise, which would end
// the process (nodejs/undici#5715). The server would then be missing in later rounds and cells.
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
