/** A program that brings files to its server and back, encrypted or not. */
export interface Client {
  readonly name: ClientName;
  /** Commands for one measurement; each runs in a shell of its own. `label` tells rounds apart. */
  up(source: string, label: string): string;
  down(label: string, target: string, source: string): string;
  /** Environment of these commands. */
  readonly env: NodeJS.ProcessEnv;
  stop(): Promise<void>;
}

export const clientNames = ['szafa', 'restic', 'rclone crypt', 'age + curl', 'curl'] as const;
export type ClientName = (typeof clientNames)[number];

/** For a path in a shell command. */
export const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
