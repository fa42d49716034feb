import { limits } from '../basics/limits.ts';
import { cleanFileName, RuleError } from '../basics/names.ts';
import { type NamesBody, targetDir } from './records.ts';

/** A new name and directory of a file, as stored. */
export interface NewName {
  fileId: string;
  fileName: string;
  /** JSON text. */
  encParams: string;
  /** SHA-256 in hex of the base64 text to replace. */
  match: string;
  /** Undefined keeps the directory; 0 is the root. */
  dirId: number | undefined;
}

/** Checks rules of new names that a schema cannot express. A generator, because each name can take milliseconds. */
export function* checkNames({ files, in_trash: inTrash = false }: NamesBody): Generator<NewName> {
  const seen = new Set<string>();
  for (const { file_id: fileId, file_name, enc_params, match, dir_id } of files) {
    if (seen.has(fileId)) throw new RuleError('files: a file occurs twice');
    seen.add(fileId);
    if (enc_params.length > limits.encParamsBase64Bytes) {
      throw new RuleError(`enc_params: more than ${limits.encParamsBase64Bytes} bytes of base64`);
    }
    if (inTrash && dir_id !== undefined) throw new RuleError('dir_id: files in the trash cannot be moved');
    const encParams = decodeText(enc_params);
    const dirId = dir_id === undefined ? undefined : targetDir({ dir_id });
    yield { fileId, fileName: cleanFileName(file_name), encParams, match: match.toLowerCase(), dirId };
  }
}

/** Returns the JSON text exactly as sent: serializing the parsed value could change it. */
function decodeText(encParams: string): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      Uint8Array.fromBase64(encParams),
    );
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return text;
  } catch {
    // Drop the cause: its message would quote the input.
  }
  throw new RuleError('enc_params: not base64 of a JSON object');
}
