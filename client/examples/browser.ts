import { blobSource, displayName, Szafa } from '@szafa/client';

/** What a page does with a file that was chosen: upload it, list it, read it back. Only web APIs. */
export async function roundTrip(server: string, username: string, password: string, file: File) {
  const szafa = await Szafa.login({ server }, { username, password });
  const progress: string[] = [];
  const { fileId } = await szafa.upload(blobSource(file), {
    path: file.name,
    type: file.type,
    mtime: file.lastModified,
    onProgress: ({ done, total }) => progress.push(`${done} of ${total}`),
  });
  const entry = (await szafa.list()).find((one) => one.fileId === fileId);
  const remote = await szafa.openFile(fileId, { record: entry?.record });
  const preview = await remote.readRange(0, 16);
  const blob = await new Response(remote.stream()).blob();
  return { name: displayName(entry?.name ?? ''), verified: entry?.verified, progress, preview, blob };
}
