/**
 * Node's HTTP modules. Importing node:http would evaluate all of its exports, a second HTTP client among them, which delays every command
 * by a tenth of a second; node:https costs half of that, and only some servers need it.
 */
export const http = process.getBuiltinModule('node:http');
export const https = () => process.getBuiltinModule('node:https');
