/** Every number of the API, written once. */
export const limits = {
  /** Of init, and of every other JSON body: what is too long in it is told as such, at any length that fits. */
  jsonBodyBytes: 1_048_576,
  /** Of a JSON body on a route that needs no token, uploads of visitors excepted. */
  openBodyBytes: 64 * 1024,
  /** What a JSON body may have beside what its route describes: levels of nesting, and values. */
  unknownJson: { depth: 100, values: 1000 },
  volumesPerFile: 10_000,
  fileNameChars: 255,
  dirNameChars: 64,
  /** Of a path, as clients seal it: each but the last is a folder. */
  pathParts: 128,
  usernameChars: { min: 3, max: 32 },
  passwordChars: { min: 6, max: 128 },
  /** Of what recover asks for: 128 bits at least, if it is random. */
  recoveryChars: { min: 22, max: 128 },
  /** How long the token that recover gives may be used. */
  recoverySeconds: 600,
  deviceChars: 100,
  /** Codes as every authenticator app makes them; the step before and the one after count too, as clocks differ. */
  totp: { digits: 6, stepSeconds: 30, stepsAround: 1, secretChars: 32 },
  /** Passkeys of an account; how long a challenge can be answered; ids have up to 1,023 bytes, public keys of RSA 512. */
  passkeys: { most: 20, seconds: 300, idChars: 1364, answerChars: 8192, publicKeyBytes: 1024 },
  /** Logins of an account; one more ends the longest unused. */
  sessions: 1000,
  /** Tokens that an account has made; no more are made beyond that. */
  tokens: 1000,
  /** Directories of an account. */
  dirs: 10_000,
  /** Entries of an account in the audit log in a day; then it can create no token, share or request. */
  auditEntriesPerDay: 3000,
  /** Base64 of enc_params must fit a header that every common client and proxy accepts. */
  encParamsBase64Bytes: 12 * 1024,
  /** Base64 of what init takes, where it travels in a header. */
  initBase64Bytes: 12 * 1024,
  /** Files of one volume that travel in one request: how many, the line that names them, and their volumes together. */
  batchFiles: 32,
  batchHeadBytes: 512 * 1024,
  batchBytes: 8 * 1_048_576,
  /** Of an account's key bag, as the text that the service keeps. */
  keysChars: 32 * 1024,
  /** Of an account's identity: one byte, two public keys and a signature. */
  identityChars: 172,
  pullSeconds: 3600,
  pullDownloads: 8,
  pullConnections: 4,
  listPage: 1000,
  /** The same with headers, of up to `encParamsBase64Bytes` each. */
  headersPage: 250,
  /** Files that are named in one request; and the bytes of one that gives them other names. */
  filesPerBatch: 1000,
  namesBodyBytes: 16 * 1_048_576,
  thumbnailBytes: 33_000,
  /** What enc_params and thumbnails of an account may have together, where the quota is enforced: this part of the quota, but not less than `least`. */
  extraBytes: { least: 64 * 1_048_576, part: 1 / 8 },
  /** Of one request for several, which are in memory together. */
  thumbnailsPerBatch: 50,
  /** Of an operator's lists, where nothing is said. */
  adminPage: 100,
  /** Bytes a second: by less, a client whose connections wait in turn would seem silent. */
  leastRate: 65_536,
  noteChars: 200,
  /** How long an invitation can be used. */
  inviteSeconds: { usual: 7 * 86_400, max: 366 * 86_400 },
  inviteChars: 64,
  /** Files of one share; the text of its header, and the request that has both. */
  shareFiles: 10_000,
  shareHeaderChars: 8 * 1_048_576,
  shareBodyBytes: 10 * 1_048_576,
  /** Of what the owner keeps beside a share. */
  shareOwnChars: 8 * 1024,
  /** Of what opens a share for the account that it is for. */
  shareLetterChars: 8 * 1024,
  shareDownloads: 1_000_000,
  /** What all shares of an account may have together. */
  sharesOfAccount: { shares: 1000, files: 100_000, headerChars: 64 * 1_048_576 },
  /** Shares that an account may be given, of all others and of one. */
  sharesForAccount: { ofAll: 1000, ofOne: 200 },
  /** How long a ticket reads, and how many of one share there may be at a time. */
  ticketSeconds: 86_400,
  ticketsOfShare: 10_000,
  /** Of these, those that one address may have taken. */
  ticketsOfAddress: 1000,
  /** How long it is known that a share has ended, and why. */
  endedShareSeconds: 30 * 86_400,
  /** Of a request: the text of its header, how many files it may take, and how many may be on their way by it at a time. */
  requestHeaderChars: 4096,
  requestFiles: 10_000,
  /** Of a visitor's volumes: beside one, so many bytes for each, on the average. Empty ones would be free, and take place all the same. */
  requestVolumeBytes: 4096,
  uploadsOfRequest: 20,
  /** Of these, those from one address. */
  uploadsOfAddress: 10,
  /** How long an upload by a request may have no volume, and none on its way. */
  emptyUploadSeconds: 600,
  requestsOfAccount: 100,
} as const;

/** How many bytes of enc_params and thumbnails an account with this quota may have. */
export const extraAllowance = (quota: number) =>
  Math.max(limits.extraBytes.least, Math.floor(quota * limits.extraBytes.part));

/** The built-in identity behind the system token; not a registered user. */
export const ADMIN = 'admin';

/** What this service offers beside what is specified; clients ask before they rely on it. */
export const features = [
  'accounts',
  'changes',
  'digests',
  'factors',
  'keys',
  'names',
  'requests',
  'shares',
  'streamed',
  'thumbnails',
  'tokens',
  'trash',
] as const;
/** The same, where the server knows its own address (SZ_ORIGIN). */
export const PASSKEYS = 'passkeys';

export const headers = {
  encParams: 'X-Enc-Params',
  chunkCount: 'X-Chunk-Count',
  /** RFC 9530 */
  contentDigest: 'Content-Digest',
  init: 'X-Init',
  shareAccess: 'X-Share-Access',
  shareTicket: 'X-Share-Ticket',
  /** Which 409 it is, where the body does not say: `exists`. */
  conflict: 'X-Conflict',
} as const;
