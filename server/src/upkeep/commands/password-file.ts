import { type FileHandle, open, rm } from 'node:fs/promises';
import { UsageError } from '../../operator/commands/report.ts';

/** Writes new passwords, one line per account, to a file that only its owner can read. */
export class PasswordFile {
  readonly #path: string;
  readonly #file: FileHandle;

  private constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
  }

  /** `again`: allows an existing file, which a killed run may have left. */
  static async open(path: string, again = false): Promise<PasswordFile> {
    const file = await open(path, again ? 'a' : 'ax', 0o600).catch((cause: Error) => {
      throw new UsageError(`--passwords: ${cause.message}`, { cause });
    });
    return new PasswordFile(path, file);
  }

  /** Adds a line; durable when this resolves. If a name has several lines, the last one counts. */
  async add(username: string, password: string): Promise<void> {
    await this.#file.appendFile(`${username} ${password}\n`);
    await this.#file.sync();
  }

  /** Closes the file, and deletes it if it is empty. */
  async close(): Promise<void> {
    const { size } = await this.#file.stat();
    await this.#file.close();
    if (size === 0) await rm(this.#path);
  }
}
