/** Browser features that the SDK and this page need, by names that can be looked up. */
const NEEDS: [name: string, here: () => boolean][] = [
  ['WebAssembly', () => 'WebAssembly' in globalThis],
  ['Web Workers', () => 'Worker' in globalThis],
  ['IndexedDB', () => 'indexedDB' in globalThis],
  ['BroadcastChannel', () => 'BroadcastChannel' in globalThis],
  ['navigator.locks', () => 'locks' in navigator],
  ['Uint8Array.fromBase64', () => 'fromBase64' in Uint8Array],
  ['Array.fromAsync', () => 'fromAsync' in Array],
  ['Promise.withResolvers', () => 'withResolvers' in Promise],
  ['Set.prototype.union', () => 'union' in Set.prototype],
  ['AbortSignal.any', () => 'AbortSignal' in globalThis && 'any' in AbortSignal],
];

/** Names of what this browser lacks. */
export const missingHere = (): string[] => NEEDS.filter(([, here]) => !here()).map(([name]) => name);
