/**
 * A worker of the bare page: reads its part of a file, seals, hashes and sends it. Nothing is remembered, shown or sent again. Memory
 * of results is given away as the web app does, or the collector would cost more.
 */
const { port1: nowhere, port2: end } = new MessageChannel();
end.close();
/** Being read: Chromium collects a stream that only its own reader knows of. */
const streams = new Set();

globalThis.onmessage = async ({ data }) => {
  try {
    await sendPart(data);
    postMessage({});
  } catch (error) {
    postMessage({ error: String(error) });
  }
};

/** The volumes `first` to `last`, a few at once; their sealed sizes are in `sizes`, from volume 1 on. */
async function sendPart({ file, first, last, atOnce, volumeBytes, segmentBytes, sizes, target }) {
  const stream = file.slice((first - 1) * volumeBytes, last * volumeBytes).stream();
  streams.add(stream);
  const reader = stream.getReader({ mode: 'byob' });
  const key = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt']);
  let next = first;
  let turn = Promise.resolve();
  const lane = async () => {
    const put = target.way === 'socket' ? await bySocket(target) : byRequest(target);
    let memory = new ArrayBuffer(sizes[0]);
    while (next <= last) {
      const idx = next++;
      const length = Math.min(volumeBytes, file.size - (idx - 1) * volumeBytes);
      const mine = turn.then(() => reader.read(new Uint8Array(memory, 0, length), { min: length }));
      turn = mine;
      memory = (await mine).value.buffer;
      const volume = new Uint8Array(memory, 0, sizes[idx - 1]);
      await seal(key, volume, length, segmentBytes);
      const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', volume));
      await put(idx, volume, {
        authorization: `Bearer ${target.token}`,
        'content-digest': `sha-256=:${digest.toBase64()}:`,
      });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  streams.delete(stream);
}

/** In place, from the end, where a sealed segment lies on none that is still to come; what is left at the beginning is the head. */
async function seal(key, volume, length, segmentBytes) {
  let at = volume.length;
  for (let from = (Math.ceil(length / segmentBytes) - 1) * segmentBytes; from >= 0; from -= segmentBytes) {
    const plain = volume.subarray(from, Math.min(from + segmentBytes, length));
    const iv = crypto.getRandomValues(new Uint8Array(12));
    const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv }, key, plain);
    at -= sealed.byteLength;
    volume.set(new Uint8Array(sealed), at);
    nowhere.postMessage(null, [sealed]);
  }
  crypto.getRandomValues(volume.subarray(0, at));
}

function byRequest({ url }) {
  return async (idx, body, headers) => {
    const init = { method: 'PUT', headers, body, credentials: 'omit', cache: 'no-store' };
    const answer = await fetch(url + idx, init);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`volume ${idx}: ${answer.status} ${text}`);
  };
}

/** A socket of szafa's, which takes one volume after the other, each as one message. */
async function bySocket({ url, socket: { path, protocol } }) {
  const { host, pathname } = new URL(url);
  const socket = new WebSocket(`ws://${host}${path}`, protocol);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onclose = () => reject(new Error('no socket'));
  });
  return (idx, body, headers) =>
    new Promise((resolve, reject) => {
      socket.onclose = () => reject(new Error(`volume ${idx}: the socket was closed`));
      socket.onmessage = ({ data }) => {
        const { status } = JSON.parse(data);
        if (status === 200) resolve();
        else if (status !== undefined) reject(new Error(`volume ${idx}: ${data}`));
      };
      const fields = Object.entries({ ...headers, host, 'content-length': body.length });
      const lines = fields.map(([name, value]) => `${name}: ${value}`);
      socket.send([`PUT ${pathname}${idx} HTTP/1.1`, ...lines].join('\r\n'));
      socket.send(body);
    });
}
