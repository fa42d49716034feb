/** Reads single elements of S3's answers. Their format is fixed, so no XML parser is needed. */

const ENTITIES: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function decode(text: string): string {
  return text.replace(/&(?:#x([0-9a-fA-F]+)|#(\d+)|(\w+));/g, (whole, hex, decimal, name) => {
    if (hex) return String.fromCodePoint(Number.parseInt(hex, 16));
    if (decimal) return String.fromCodePoint(Number(decimal));
    return ENTITIES[name] ?? whole;
  });
}

export function encodeXml(text: string): string {
  return text.replace(/[<>&"']/g, (char) => `&#${char.charCodeAt(0)};`);
}

/** The raw content of each element with that name. */
export function elements(xml: string, name: string): string[] {
  return Array.from(xml.matchAll(new RegExp(`<${name}>([\\s\\S]*?)</${name}>`, 'g')), (match) => match[1]!);
}

/** The text of the first element with that name. */
export function text(xml: string, name: string): string | undefined {
  const [found] = elements(xml, name);
  return found === undefined ? undefined : decode(found);
}
