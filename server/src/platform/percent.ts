/** RFC 3986: all but the unreserved characters, so that no parser on the way can take any for something else. */
export function percent(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
