/**
 * Node's HTTP modules. Importing node:http evaluates all of its exports, including a second HTTP client, and would delay every command by
 * a tenth of a second. node:https takes half of that, and only some servers need it.
 */
export const http = process.getBuiltinModule('node:http');
export const https = () => process.getBuiltinModule('node:https');
