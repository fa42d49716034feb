declare module '*.css';

declare module '*?worker&url' {
  const url: string;
  export default url;
}

declare module 'hash-wasm/dist/index.esm.js' {
  export { argon2id } from 'hash-wasm';
}
