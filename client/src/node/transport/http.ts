/**
 * Node's HTTP. An import of it would make everything that it exports, a whole other client among it, which takes a tenth of a second
 * of the user's; of node:https only those need the half of that who have such a service.
 */
export const http = process.getBuiltinModule('node:http');
export const https = () => process.getBuiltinModule('node:https');
