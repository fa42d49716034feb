/** The document of the bare page: an input for a file, and workers that send it. Runs on an address of the service. */
const MOST_WORKERS = 4;

globalThis.openBare = (script) => {
  document.body.innerHTML = '<input type="file">';
  const url = URL.createObjectURL(new Blob([script], { type: 'text/javascript' }));
  // As many as the web app seals with.
  const count = Math.min(MOST_WORKERS, navigator.hardwareConcurrency);
  const workers = Array.from({ length: count }, () => new Worker(url));

  /** A streamed upload as docs/api.md says: init, PUT of every volume, complete. */
  globalThis.uploadBare = async ({ way, token, socket, volumesAtOnce, volumeBytes, segmentBytes, sizes }) => {
    const [file] = document.querySelector('input').files;
    const post = async (path, body) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const answer = await fetch(`/api/transfer/${path}`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      });
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
      return answer.json();
    };
    const chunk_count = sizes.length;
    const chunks = sizes.map((size) => ({ size }));
    const { transfer_id } = await post('init', { streamed: true, chunk_count, chunks });
    const target = { way, token, socket, url: `${location.origin}/api/transfer/${transfer_id}/chunk/` };
    const each = Math.ceil(chunk_count / count);
    const sent = workers.map((worker, at) => {
      const done = Promise.withResolvers();
      worker.onmessage = ({ data: { error } }) => (error ? done.reject(new Error(error)) : done.resolve());
      worker.onerror = ({ message }) => done.reject(new Error(message));
      const [first, last] = [at * each + 1, Math.min(chunk_count, (at + 1) * each)];
      const atOnce = Math.ceil(volumesAtOnce / count);
      worker.postMessage({ file, first, last, atOnce, volumeBytes, segmentBytes, sizes, target });
      return done.promise;
    });
    await Promise.all(sent);
    const file_size = sizes.reduce((sum, size) => sum + size, 0);
    const described = { file_name: 'bare', total_sha256: '0'.repeat(64), enc_params: {} };
    await post(`${transfer_id}/complete`, { ...described, file_size, chunk_count });
  };
};
