/** What routes with such a part in their path find there. */
export type Params = {
  transfer_id: string;
  file_id: string;
  dir_id: string;
  idx: string;
  session_id: string;
  passkey_id: string;
  share_id: string;
  request_id: string;
  username: string;
  number: string;
};

/** NaN for what is not a volume number in decimal. */
export function volumeNumber(text: string): number {
  return /^[1-9][0-9]{0,15}$/.test(text) ? Number(text) : Number.NaN;
}
