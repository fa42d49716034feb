/**
 * Uploads a file and downloads it again:
 *   SZ_SERVER=http://127.0.0.1:8080 SZ_USER=ewa SZ_PASSWORD=… node client/examples/node.ts FILE COPY
 */
import { basename } from 'node:path';
import { downloadToFile, fileSource, nodeEngine, nodeTransport, Szafa } from '@szafa/client/node';

const {
  SZ_SERVER: server = 'http://127.0.0.1:8080',
  SZ_USER: username = '',
  SZ_PASSWORD: password = '',
} = process.env;
const [file = '', copy = ''] = process.argv.slice(2);

const engine = nodeEngine();
const transport = nodeTransport();
const szafa = await Szafa.login({ server, engine, transport }, { username, password });

const source = await fileSource(file);
const { fileId, volumes } = await szafa.upload(source, { path: basename(file), mtime: source.mtime });
await source.close();
console.log(`uploaded as ${fileId} in ${volumes} volumes`);

const remote = await szafa.openFile(fileId);
await downloadToFile(remote, copy);
console.log(`${remote.metadata.name}: ${remote.metadata.size} bytes, verified`);

transport.close();
await engine.close();
