export { argon2id, createSHA256 } from 'hash-wasm/dist/index.esm.js';
