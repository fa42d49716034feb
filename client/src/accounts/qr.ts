import encodeQR from 'qr';

/** Capacity of a QR code with error correction level M. */
const MOST_BYTES = 2331;

/**
 * Encodes a text as a QR code with error correction level M.
 * @returns the modules row by row, true for dark, without the quiet zone of four modules
 * @throws RangeError if the text has more than 2,331 bytes
 */
export function qr(text: string): boolean[][] {
  if (new TextEncoder().encode(text).length > MOST_BYTES)
    throw new RangeError('the text is too long for a QR code');
  const framed = encodeQR(text, 'raw', { ecc: 'medium', encoding: 'byte', border: 1 });
  return framed.slice(1, -1).map((row) => row.slice(1, -1));
}
