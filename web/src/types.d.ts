declare module '*.css';

/** SHA-256 of /szafa.cjs in hex, set by build/command.ts. */
declare const COMMAND_SHA256: string;

declare module '*?worker&url' {
  const url: string;
  export default url;
}

declare module 'hash-wasm/dist/index.esm.js' {
  export { argon2id, createSHA256 } from 'hash-wasm';
}
