import { limits } from './limits.ts';
import { cleanFileName, RuleError } from './names.ts';
import { type NamesBody, targetDir } from './resources.ts';

/** Another name for a file, and another place, in the form in which they are stored. */
export interface NewName {
  fileId: string;
  fileName: string;
  /** The JSON text. */
  encParams: string;
  /** SHA-256, in hex, of the base64 text that this takes the place of. */
  match: string;
  /** Undefined: where it is; 0 is the root. */
  dirId: number | undefined;
}

/** The rules for new names that a schema cannot say; one name after the other, since each may be milliseconds of work. */
export function* checkNames({ files, in_trash: inTrash = false }: NamesBody): Generator<NewName> {
  const seen = new Set<string>();
  for (const { file_id: fileId, file_name, enc_params, match, dir_id } of files) {
    if (seen.has(fileId)) throw new RuleError('files: one of them occurs twice');
    seen.add(fileId);
    if (enc_params.length > limits.encParamsBase64Bytes) {
      throw new RuleError(`enc_params: more than ${limits.encParamsBase64Bytes} bytes of base64`);
    }
    if (inTrash && dir_id !== undefined) throw new RuleError('dir_id: a file in the trash stays there');
    const encParams = textOf(enc_params);
    const dirId = dir_id === undefined ? undefined : targetDir({ dir_id });
    yield { fileId, fileName: cleanFileName(file_name), encParams, match: match.toLowerCase(), dirId };
  }
}

/** As it was sent: to parse and write it again would change it. */
function textOf(encParams: string): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
      Uint8Array.fromBase64(encParams),
    );
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return text;
  } catch {
    // as below; the cause would quote what was sent
  }
  throw new RuleError('enc_params: not base64 of a JSON object');
}
