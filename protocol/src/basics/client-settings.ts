/** Environment variables of the command line client. The server rejects unknown SZ_ names, but must ignore these: both may run in one shell. */
export const clientSettings = [
  'SZ_SERVER',
  'SZ_USER',
  'SZ_PASSWORD',
  'SZ_PASSWORD_FILE',
  'SZ_PASSPHRASE',
  'SZ_PASSPHRASE_FILE',
  'SZ_LINK_PASSPHRASE',
  'SZ_LINK_PASSPHRASE_FILE',
  'SZ_NEW_PASSWORD',
  'SZ_NEW_PASSWORD_FILE',
  'SZ_NEW_PASSPHRASE',
  'SZ_NEW_PASSPHRASE_FILE',
  'SZ_RECOVERY_KEY',
  'SZ_RECOVERY_KEY_FILE',
  'SZ_INVITE',
  'SZ_INVITE_FILE',
  'SZ_CODE',
  'SZ_TOKEN',
  'SZ_TOKEN_FILE',
  'SZ_CONFIG',
] as const;

export type ClientSetting = (typeof clientSettings)[number];
