/**
 * Node's HTTP modules. A normal import would also load fetch and WebSocket, a tenth of the start-up time. Types may be imported
 * as usual.
 */
export const http = process.getBuiltinModule('node:http');
export const https = () => process.getBuiltinModule('node:https');
