/** The limits of the API. */
export const limits = {
  /** Length of a JSON body. A single field that is too long has its own error. */
  jsonBodyBytes: 1_048_576,
  /** Length of a JSON body on routes that need no token, except uploads of visitors. */
  openBodyBytes: 64 * 1024,
  /** Nesting and number of values that a JSON body may have in members unknown to its schema. */
  unknownJson: { depth: 100, values: 1000 },
  volumesPerFile: 10_000,
  fileNameChars: 255,
  dirNameChars: 64,
  /** Parts of a path sealed by a client; all but the last are folders. */
  pathParts: 128,
  usernameChars: { min: 3, max: 32 },
  passwordChars: { min: 6, max: 128 },
  /** Length of the recovery secret; 22 random characters have 128 bits. */
  recoveryChars: { min: 22, max: 128 },
  /** Lifetime of a recovery token. */
  recoverySeconds: 600,
  deviceChars: 100,
  /** The values that authenticator apps use. One step before and after is accepted, because clocks differ. */
  totp: { digits: 6, stepSeconds: 30, stepsAround: 1, secretChars: 32 },
  /** Passkeys per account, and the lifetime of a challenge. An ID can have 1,023 bytes, an RSA public key 512. */
  passkeys: { most: 20, seconds: 300, idChars: 1364, answerChars: 8192, publicKeyBytes: 1024 },
  /** Login sessions per account. A further login ends the least recently used one. */
  sessions: 1000,
  /** Tokens per account. */
  tokens: 1000,
  /** Directories per account. */
  dirs: 10_000,
  /** Audit log entries per account and day. After that the account cannot create tokens, shares or requests. */
  auditEntriesPerDay: 3000,
  /** Base64 of enc_params, which must fit into a header that common clients and proxies accept. */
  encParamsBase64Bytes: 12 * 1024,
  /** Base64 of an init body that is sent in a header. */
  initBase64Bytes: 12 * 1024,
  /** Limits of a batch of single-volume files: number of files, length of the first line, and bytes of all volumes. */
  batchFiles: 32,
  batchHeadBytes: 512 * 1024,
  batchBytes: 8 * 1_048_576,
  /** Length of a key bag in base64url. */
  keysChars: 32 * 1024,
  /** Length of an identity in base64url: one byte, two public keys and a signature. */
  identityChars: 172,
  pullSeconds: 3600,
  pullDownloads: 8,
  pullConnections: 4,
  listPage: 1000,
  /** Page length of lists with headers, which can have `encParamsBase64Bytes` each. */
  headersPage: 250,
  /** Files per request, and the body length of a request that renames files. */
  filesPerBatch: 1000,
  namesBodyBytes: 16 * 1_048_576,
  thumbnailBytes: 33_000,
  /** Bytes of all enc_params and thumbnails of an account if the quota is enforced: this fraction of the quota, but at least `least`. */
  extraBytes: { least: 64 * 1_048_576, part: 1 / 8 },
  /** Thumbnails per request. All are in memory at the same time. */
  thumbnailsPerBatch: 50,
  /** Default page length of an operator's lists. */
  adminPage: 100,
  /** Lowest rate limit in bytes per second. With less, waiting connections would time out. */
  leastRate: 65_536,
  noteChars: 200,
  /** Lifetime of an invitation. */
  inviteSeconds: { usual: 7 * 86_400, max: 366 * 86_400 },
  inviteChars: 64,
  /** Files per share, the length of its header, and the body length of the request that creates it. */
  shareFiles: 10_000,
  shareHeaderChars: 8 * 1_048_576,
  shareBodyBytes: 10 * 1_048_576,
  /** Length of `own`, the owner's data of a share. */
  shareOwnChars: 8 * 1024,
  /** Length of a letter, which opens a share for its recipient. */
  shareLetterChars: 8 * 1024,
  shareDownloads: 1_000_000,
  /** Limits for all shares of an account together. */
  sharesOfAccount: { shares: 1000, files: 100_000, headerChars: 64 * 1_048_576 },
  /** Shares that an account may receive, from all accounts and from one. */
  sharesForAccount: { ofAll: 1000, ofOne: 200 },
  /** Lifetime of a ticket, and valid tickets per share. */
  ticketSeconds: 86_400,
  ticketsOfShare: 10_000,
  /** Valid tickets per share from one address. */
  ticketsOfAddress: 1000,
  /** How long an ended share or request is kept, so that its link can say why it ended. */
  endedShareSeconds: 30 * 86_400,
  /** Header length and number of files of a file request. */
  requestHeaderChars: 4096,
  requestFiles: 10_000,
  /** Least average size of a visitor's volumes, not counting one. Otherwise a visitor could create many empty volumes. */
  requestVolumeBytes: 4096,
  /** Open uploads per file request, in total and from one address. */
  uploadsOfRequest: 20,
  uploadsOfAddress: 10,
  /** A visitor's upload without a volume, stored or arriving, is removed after this time. */
  emptyUploadSeconds: 600,
  requestsOfAccount: 100,
} as const;

/** Returns how many bytes of enc_params and thumbnails an account with this quota can have. */
export const extraAllowance = (quota: number) =>
  Math.max(limits.extraBytes.least, Math.floor(quota * limits.extraBytes.part));

/** Account name of the system token. Cannot be registered. */
export const ADMIN = 'admin';

/** Features beyond the specification. Clients check for a feature before they use it. */
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
/** A feature that is listed only if the server knows its own address (SZ_ORIGIN). */
export const PASSKEYS = 'passkeys';

export const headers = {
  encParams: 'X-Enc-Params',
  chunkCount: 'X-Chunk-Count',
  /** RFC 9530 */
  contentDigest: 'Content-Digest',
  init: 'X-Init',
  shareAccess: 'X-Share-Access',
  shareTicket: 'X-Share-Ticket',
  /** Reason for a 409 whose body cannot give it: `exists`. */
  conflict: 'X-Conflict',
} as const;
