/** A port whose other end is closed: a buffer transferred to it is freed at once, without garbage collection. */
const { port1: nowhere, port2: end } = new MessageChannel();
end.close();

export const discard = (memory: ArrayBuffer): void => nowhere.postMessage(null, [memory]);
