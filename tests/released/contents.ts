/** What the fixtures of all releases have in common. */
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../harness/index.ts';

export const USERNAME = 'ada';
export const PASSWORD = 'correct horse battery staple';
/** Sessions and journals name the server's address, so it stays the same. */
export const PORT = 28417;
/** Journals name the absolute path of a file, so the folder stays the same. */
export const HOME = join(tmpdir(), 'szafa-released');
/** The file whose upload was interrupted. */
export const UNFINISHED = 'unfinished.bin';

/** Creates the folder, and waits while another run has it. */
export const claimHome = () => eventually(async () => void (await mkdir(HOME)));
