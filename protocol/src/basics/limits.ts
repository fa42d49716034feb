/** The limits of the API. */
export const limits = {
  /** Length of a JSON body. Fields that are too long within it get an error of their own. */
  jsonBodyBytes: 1_048_576,
  /** Length of a JSON body on routes that need no token, except uploads of visitors. */
  openBodyBytes: 64 * 1024,
  /** Nesting and values that a JSON body may have besides those its schema names. */
  unknownJson: { depth: 100, values: 1000 },
  volumesPerFile: 10_000,
  fileNameChars: 255,
  dirNameChars: 64,
  /** Parts of a path, as clients seal it; all but the last are folders. */
  pathParts: 128,
  usernameChars: { min: 3, max: 32 },
  passwordChars: { min: 6, max: 128 },
  /** Length of the recovery secret; 22 random characters have 128 bits. */
  recoveryChars: { min: 22, max: 128 },
  /** Lifetime of a recovery token. */
  recoverySeconds: 600,
  deviceChars: 100,
  /** Codes as authenticator apps make them; one step before and after is accepted, as clocks differ. */
  totp: { digits: 6, stepSeconds: 30, stepsAround: 1, secretChars: 32 },
  /** Passkeys per account, and the lifetime of a challenge. Ids have up to 1,023 bytes, RSA public keys 512. */
  passkeys: { most: 20, seconds: 300, idChars: 1364, answerChars: 8192, publicKeyBytes: 1024 },
  /** Logins per account; one more ends the least recently used. */
  sessions: 1000,
  /** Tokens per account. */
  tokens: 1000,
  /** Directories per account. */
  dirs: 10_000,
  /** Audit log entries of an account per day; beyond it, the account can create no token, share or request. */
  auditEntriesPerDay: 3000,
  /** Base64 of enc_params, which must fit into a header that common clients and proxies accept. */
  encParamsBase64Bytes: 12 * 1024,
  /** Base64 of the body of init, where it is sent in a header. */
  initBase64Bytes: 12 * 1024,
  /** A batch of single-volume files: their number, the line that describes them, and the bytes of all volumes. */
  batchFiles: 32,
  batchHeadBytes: 512 * 1024,
  batchBytes: 8 * 1_048_576,
  /** Length of a key bag as text. */
  keysChars: 32 * 1024,
  /** Length of an identity as text: one byte, two public keys and a signature. */
  identityChars: 172,
  pullSeconds: 3600,
  pullDownloads: 8,
  pullConnections: 4,
  listPage: 1000,
  /** The same for lists with headers, of up to `encParamsBase64Bytes` each. */
  headersPage: 250,
  /** Files per request, and the body of a request that renames them. */
  filesPerBatch: 1000,
  namesBodyBytes: 16 * 1_048_576,
  thumbnailBytes: 33_000,
  /** Bytes of all enc_params and thumbnails of an account under an enforced quota: this part of it, at least `least`. */
  extraBytes: { least: 64 * 1_048_576, part: 1 / 8 },
  /** Thumbnails per request; all of them are in memory at once. */
  thumbnailsPerBatch: 50,
  /** Default page length of an operator's lists. */
  adminPage: 100,
  /** Lowest rate in bytes per second: at less, waiting connections would time out. */
  leastRate: 65_536,
  noteChars: 200,
  /** Lifetime of an invitation. */
  inviteSeconds: { usual: 7 * 86_400, max: 366 * 86_400 },
  inviteChars: 64,
  /** Files of a share, the length of its header, and the body of the request that creates it. */
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
  /** How long an ended share or request is kept, to say why it ended. */
  endedShareSeconds: 30 * 86_400,
  /** Length of a file request's header, and its files. */
  requestHeaderChars: 4096,
  requestFiles: 10_000,
  /** Average bytes that a visitor's volumes must have, except one. Otherwise empty volumes would cost nothing. */
  requestVolumeBytes: 4096,
  /** Open uploads per file request, in all and from one address. */
  uploadsOfRequest: 20,
  uploadsOfAddress: 10,
  /** How long a visitor's upload may have no volume, stored or arriving. */
  emptyUploadSeconds: 600,
  requestsOfAccount: 100,
} as const;

/** The bytes of enc_params and thumbnails that an account with this quota may have. */
export const extraAllowance = (quota: number) =>
  Math.max(limits.extraBytes.least, Math.floor(quota * limits.extraBytes.part));

/** The account of the system token; not a registered one. */
export const ADMIN = 'admin';

/** What this server offers besides the specified interface; clients check before they use it. */
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
/** Another feature, offered only if the server knows its own address (SZ_ORIGIN). */
export const PASSKEYS = 'passkeys';

export const headers = {
  encParams: 'X-Enc-Params',
  chunkCount: 'X-Chunk-Count',
  /** RFC 9530 */
  contentDigest: 'Content-Digest',
  init: 'X-Init',
  shareAccess: 'X-Share-Access',
  shareTicket: 'X-Share-Ticket',
  /** The kind of a 409, if the body does not say: `exists`. */
  conflict: 'X-Conflict',
} as const;
