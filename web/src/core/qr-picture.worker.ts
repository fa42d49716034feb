/** Draws a QR code; the encoder is loaded when the first one is wanted. */
export async function drawQr(text: string): Promise<boolean[][]> {
  const { qr } = await import('@szafa/client/qr');
  return qr(text);
}
