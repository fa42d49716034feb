/** A program that uploads files to its server and downloads them, encrypted or not. */
export interface Client {
  readonly name: ClientName;
  /** Returns the shell command of an upload. `label` is different in each round. */
  up(source: string, label: string): string;
  down(label: string, target: string, source: string): string;
  /** Environment of the commands. */
  readonly env: NodeJS.ProcessEnv;
  stop(): Promise<void>;
}

export const clientNames = ['szafa', 'restic', 'rclone crypt', 'age + curl', 'curl'] as const;
export type ClientName = (typeof clientNames)[number];

/** Quotes a path for a shell command. */
export const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
