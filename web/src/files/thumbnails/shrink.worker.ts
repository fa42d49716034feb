/** Maximum length of the longer side in pixels: sharp in a tile, and at most 256 KiB in memory. */
const SIDE = 256;
/** Formats in order of preference. The first that the browser can write and that is small enough is used. */
const FORMS = [
  { type: 'image/webp', quality: 0.8 },
  { type: 'image/jpeg', quality: 0.8 },
  { type: 'image/jpeg', quality: 0.4 },
];

/** Shrinks a picture to at most `most` bytes. Returns undefined if no format is small enough. */
export async function shrinkPicture(picture: Blob, most: number): Promise<Blob | undefined> {
  const whole = await createImageBitmap(picture);
  const { width, height } = whole;
  const scale = Math.min(1, SIDE / Math.max(width, height));
  const canvas = new OffscreenCanvas(
    Math.max(1, Math.round(width * scale)),
    Math.max(1, Math.round(height * scale)),
  );
  const pen = canvas.getContext('2d')!;
  pen.imageSmoothingQuality = 'high';
  pen.drawImage(whole, 0, 0, canvas.width, canvas.height);
  whole.close();
  for (const form of FORMS) {
    if (form.type === 'image/jpeg') {
      // JPEG has no transparency: transparent areas would turn black.
      pen.globalCompositeOperation = 'destination-over';
      pen.fillStyle = '#fff';
      pen.fillRect(0, 0, canvas.width, canvas.height);
    }
    const made = await canvas.convertToBlob(form);
    if (made.type === form.type && made.size <= most) return made;
  }
  return undefined;
}
