export { argon2id } from 'hash-wasm/dist/index.esm.js';
