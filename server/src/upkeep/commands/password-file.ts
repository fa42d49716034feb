import { type FileHandle, open, rm } from 'node:fs/promises';
import { UsageError } from '../../operator/commands/report.ts';

/** New passwords, a line for each account, in a file that only its reader has. */
export class PasswordFile {
  readonly #path: string;
  readonly #file: FileHandle;

  private constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
  }

  /** `again`: a run that was killed may have left some in it. */
  static async open(path: string, again = false): Promise<PasswordFile> {
    const file = await open(path, again ? 'a' : 'ax', 0o600).catch((cause: Error) => {
      throw new UsageError(`--passwords: ${cause.message}`, { cause });
    });
    return new PasswordFile(path, file);
  }

  /** Durable when it resolves. Of two lines for one name the last counts. */
  async add(username: string, password: string): Promise<void> {
    await this.#file.appendFile(`${username} ${password}\n`);
    await this.#file.sync();
  }

  /** Where no password was needed no file stays. */
  async close(): Promise<void> {
    const { size } = await this.#file.stat();
    await this.#file.close();
    if (size === 0) await rm(this.#path);
  }
}
