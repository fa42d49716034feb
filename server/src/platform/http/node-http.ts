/**
 * Node's HTTP. An import of it would make everything that it exports, fetch and WebSocket among it, which is a tenth of a start;
 * node:https is loaded where it is used. Types may be imported as usual.
 */
export const http = process.getBuiltinModule('node:http');
export const https = () => process.getBuiltinModule('node:https');
