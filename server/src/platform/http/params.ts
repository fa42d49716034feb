/** Parameters in the paths of routes. */
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

/** NaN if the text is not a decimal volume number. */
export function volumeNumber(text: string): number {
  return /^[1-9][0-9]{0,15}$/.test(text) ? Number(text) : Number.NaN;
}
