/**
 * Node's HTTP modules. A normal import would also load fetch and WebSocket, which take a tenth of the startup time. Types can
 * be imported as usual.
 */
export const http = process.getBuiltinModule('node:http');
export const https = () => process.getBuiltinModule('node:https');
