import { randomBytes } from 'node:crypto';
import { open } from 'node:fs/promises';
import { ADMIN } from '@szafa/protocol';
import { Passwords } from '../domain/passwords.ts';
import { adoptStore, identify } from '../domain/store-identity.ts';
import { insertFile } from '../metadata/files.ts';
import type { Sql } from '../metadata/sql.ts';
import { insertVolumes } from '../metadata/volumes.ts';
import type { Manifest } from '../volumes/store.ts';
import type { Pair } from './pair.ts';
import { type Report, UsageError } from './report.ts';
import { isEmpty } from './rows.ts';

/**
 * Rebuilds the metadata from the manifests beside the volumes, into an empty database. What the manifests do not
 * hold is made anew: each owner gets an account with a new password, written to a file that only its reader has,
 * and directories get a name by their number. Nobody else can take an owner's name meanwhile.
 */
export async function rescue(pair: Pair, passwordFile: string, report: Report): Promise<void> {
  if (!(await isEmpty(pair.sql)))
    throw new UsageError('the database is not empty; a rescue fills an empty one');
  const identity = await identify(pair.metadata.store, pair.volumes);
  const found: string[] = [];
  for await (const { id } of pair.volumes.groups()) found.push(id);
  const owners = new Map<string, string>();
  const dirs = new Map<number, string>();
  // In the order of their making, so that lists show them as before.
  const manifests: Manifest[] = [];
  for (const id of found) {
    const { manifest } = await pair.volumes.documents(id);
    if (manifest) manifests.push(manifest);
    else report.count('uploads under way, which are given up');
  }
  manifests.sort((a, b) => a.created_at.localeCompare(b.created_at));
  await pair.sql.transaction(async (tx) => {
    for (const manifest of manifests) {
      if (!(await adopt(pair, tx, manifest, report))) continue;
      if (manifest.owner !== '' && manifest.owner !== ADMIN) owners.set(manifest.owner, manifest.account_id);
      if (manifest.dir_id !== 0 && !dirs.has(manifest.dir_id)) dirs.set(manifest.dir_id, manifest.owner);
    }
    for (const [dirId, owner] of dirs) {
      const text = 'INSERT INTO dirs (dir_id, owner, name, created_at) VALUES (?, ?, ?, ?)';
      await tx.execute(text, dirId, owner, `rescued ${dirId}`, Date.now());
      report.count('directories');
    }
    await makeAccounts(tx, owners, passwordFile, report);
    await adoptStore(tx, identity);
  });
  await pair.sql.advanceSerials?.();
}

/** The file's rows, if all of it is there. */
async function adopt({ volumes }: Pair, tx: Sql, manifest: Manifest, report: Report): Promise<boolean> {
  const id = manifest.file_id;
  const { volumes: specs } = await volumes.documents(id);
  const here = new Set(await volumes.received(id));
  const missing = specs?.find(({ idx }) => !here.has(idx));
  if (!specs || missing || specs.length !== manifest.chunk_count) {
    report.problem('files that lack volumes', { file: id, owner: manifest.owner, volume: missing?.idx ?? 0 });
    return false;
  }
  await insertVolumes(tx, id, specs);
  await insertFile(tx, {
    file_id: id,
    owner: manifest.owner,
    dir_id: manifest.dir_id,
    file_name: manifest.file_name,
    size: manifest.size,
    stored_size: specs.reduce((sum, { size }) => sum + size, 0),
    sha256: manifest.sha256,
    chunk_count: manifest.chunk_count,
    created_at: Date.parse(manifest.created_at),
    cloned_from: null,
    enc_params: manifest.enc_params,
    rev: manifest.rev,
  });
  report.count('files');
  return true;
}

async function makeAccounts(
  tx: Sql,
  owners: Map<string, string>,
  passwordFile: string,
  report: Report,
): Promise<void> {
  const passwords = new Passwords();
  const file = await open(passwordFile, 'wx', 0o600);
  try {
    for (const [username, accountId] of owners) {
      const password = randomBytes(18).toString('base64url');
      const text = 'INSERT INTO users (username, account_id, password_hash, created_at) VALUES (?, ?, ?, ?)';
      await tx.execute(text, username, accountId, await passwords.hash(password), Date.now());
      await file.write(`${username} ${password}\n`);
      report.count('accounts');
    }
    await file.sync();
  } finally {
    await file.close();
  }
}
