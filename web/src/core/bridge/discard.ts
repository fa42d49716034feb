/** Its other end is closed: memory that is sent there is free at once, and not when it happens to be collected. */
const { port1: nowhere, port2: end } = new MessageChannel();
end.close();

export const discard = (memory: ArrayBuffer): void => nowhere.postMessage(null, [memory]);
