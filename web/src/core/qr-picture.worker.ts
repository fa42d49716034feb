/** Draws a QR code. The encoder is loaded on first use. */
export async function drawQr(text: string): Promise<boolean[][]> {
  const { qr } = await import('@szafa/client/qr');
  return qr(text);
}
