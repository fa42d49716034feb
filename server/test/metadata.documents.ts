import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADMIN, noLimits } from '@szafa/protocol';
import type { DocumentsTable } from '../src/upkeep/documents-table.ts';
import type { Stores } from './metadata.contract.ts';
import { begin, filed, fresh, NOW, newId } from './metadata.fixture.ts';

/** Whether the manifest of this file is named as out of date. */
async function isStale(documents: DocumentsTable, fileId: string): Promise<boolean> {
  const before = (BigInt(`0x${fileId}`) - 1n).toString(16).padStart(32, '0');
  return (await documents.staleManifests(before, 1))[0] === fileId;
}

async function isStaleAccount(documents: DocumentsTable, accountId: string): Promise<boolean> {
  for (let after = '', page = [after]; page.length > 0; after = page.at(-1)!) {
    page = await documents.staleAccounts(after, 100);
    if (page.includes(accountId)) return true;
    if (page.length === 0) break;
  }
  return false;
}

/** What the documents in the volume store have to catch up with. */
export function documentsContract(stores: Stores): void {
  const revOf = async (fileId: string) => (await stores.two.files.get(fileId))!.rev;

  test('a new file needs no manifest; a move does, until the one with its rev is written', async () => {
    const { documents, fileChanges, files, dirs } = stores.one;
    const ann = fresh('u');
    const fileId = await filed(stores.one, ann);
    assert.equal(await isStale(documents, fileId), false);
    const dirId = (await dirs.create(ann, 'd', 1))!;
    const before = (await files.get(fileId))!;
    assert.equal(await fileChanges.move(before, ann, dirId), 'moved');
    assert.equal(await revOf(fileId), 1);
    assert.ok(await isStale(documents, fileId));
    // As found before it was moved: the second attempt inside the same move counts once.
    assert.equal(await fileChanges.move(before, ann, 0), 'moved');
    assert.equal(await revOf(fileId), 2);
    await documents.manifestWritten(fileId, 1);
    assert.ok(await isStale(documents, fileId), 'an older one does not do');
    await documents.manifestWritten(fileId, 2);
    assert.equal(await isStale(documents, fileId), false);
    await documents.markStale(fileId);
    assert.equal(await revOf(fileId), 3);
    assert.ok(await isStale(documents, fileId));
    // Written twice at once, by whomever: nobody knows which came last.
    await documents.manifestWritten(fileId, 3);
    await documents.manifestWritten(fileId, 3);
    assert.ok(await isStale(documents, fileId));
    await documents.manifestWritten(fileId, 3);
    assert.equal(await isStale(documents, fileId), false);
  });

  test('the end of a directory names the manifests of all its files, and of no other', async () => {
    const { documents, dirs } = stores.one;
    const ann = fresh('u');
    const [dirId, other] = [(await dirs.create(ann, 'd', 1))!, (await dirs.create(ann, 'e', 1))!];
    const inside = await Promise.all(Array.from({ length: 5 }, () => filed(stores.one, ann, { dirId })));
    const outside = [await filed(stores.one, ann, { dirId: other }), await filed(stores.one, ann)];
    await documents.markStale(inside[0]!);
    assert.ok(await dirs.remove(ann, dirId));
    for (const [at, id] of inside.entries()) {
      assert.equal(await revOf(id), at === 0 ? 2 : 1);
      assert.ok(await isStale(documents, id), 'named by the end of the directory itself');
      await documents.manifestWritten(id, 0);
      assert.ok(await isStale(documents, id));
      await documents.manifestWritten(id, await revOf(id));
      assert.equal(await isStale(documents, id), false);
    }
    for (const id of outside) {
      assert.equal(await revOf(id), 0);
      assert.equal(await isStale(documents, id), false);
    }
  });

  test('files that are moved while their directory ends: each has its last rev named', async () => {
    const ann = fresh('u');
    const [dirId, other] = [
      (await stores.one.dirs.create(ann, 'd', 1))!,
      (await stores.one.dirs.create(ann, 'e', 1))!,
    ];
    const made = await Promise.all(Array.from({ length: 20 }, () => filed(stores.one, ann, { dirId })));
    const rows = await Promise.all(made.map(async (id) => (await stores.one.files.get(id))!));
    const moves = rows.flatMap((row, at) => [
      stores.one.fileChanges.move(row, ann, at % 2 ? other : 0),
      stores.two.fileChanges.move(row, ann, at % 3 ? other : 0),
    ]);
    await Promise.all([...moves, stores.two.dirs.remove(ann, dirId)]);
    for (const id of made) {
      const rev = await revOf(id);
      await stores.one.documents.manifestWritten(id, rev - 1);
      assert.ok(await isStale(stores.one.documents, id));
      await stores.one.documents.manifestWritten(id, rev);
      assert.equal(await isStale(stores.one.documents, id), false);
    }
  });

  test('the manifest of a deleted file stays named, also when it was written meanwhile', async () => {
    const { documents, fileChanges, garbage } = stores.one;
    const fileId = await filed(stores.one, fresh('u'));
    await documents.markStale(fileId);
    await fileChanges.remove(fileId, NOW);
    await documents.manifestWritten(fileId, 1);
    assert.ok(await isStale(documents, fileId));
    await garbage.forget(fileId);
    await documents.manifestRemoved(fileId);
    assert.equal(await isStale(documents, fileId), false);
    // As by a sweeper that has not noticed that another one is at work.
    await documents.manifestWritten(fileId, 1);
    assert.ok(await isStale(documents, fileId));
    await documents.manifestRemoved(fileId);
  });

  test('a record that comes back has its manifest written anew', async () => {
    const { documents, fileChanges } = stores.one;
    const fileId = await filed(stores.one, fresh('u'));
    const removed = (await fileChanges.remove(fileId, NOW + 7))!;
    await fileChanges.restore(removed, NOW + 7);
    assert.equal(await revOf(fileId), 1);
    assert.ok(await isStale(documents, fileId));
  });

  test('a complete whose directory, owner or file was not as its manifest says has it written anew', async () => {
    const { documents, dirs, transfers, files } = stores.one;
    const ann = fresh('u');
    const dirId = (await dirs.create(ann, 'd', 1))!;
    const storing = async (over = {}) => {
      const { transferId } = await begin(stores.one, ann, over);
      return (await transfers.beginStoring(transferId, ann))!;
    };
    const plain = await storing();
    await transfers.finishStoring(plain, NOW);
    assert.equal(await isStale(documents, plain.file_id), false);
    await transfers.finishStoring(plain, NOW);
    assert.ok(await isStale(documents, plain.file_id), 'somebody else was first');
    const inside = await storing({ dirId });
    await dirs.remove(ann, dirId);
    await transfers.finishStoring(inside, NOW);
    assert.ok(await isStale(documents, inside.file_id));
    assert.equal((await files.get(inside.file_id))!.dir_id, 0);
    const gone = await storing();
    await transfers.failStoring(gone.transfer_id);
    await transfers.remove(gone.transfer_id, ['failed'], NOW);
    assert.equal(await transfers.finishStoring(gone, NOW), false);
    assert.ok(await isStale(documents, gone.file_id), 'there is one for a file that never was');
    await documents.manifestRemoved(gone.file_id);
  });

  test('a clone whose directory went away has its manifest written anew', async () => {
    const { documents, dirs, fileChanges, files } = stores.one;
    const ann = fresh('u');
    const source = (await files.get(await filed(stores.one, ann)))!;
    for (const goes of [false, true]) {
      const dirId = (await dirs.create(ann, 'd', 1))!;
      const target = { fileId: newId(), owner: ann, dirId };
      assert.equal(await fileChanges.beginClone(source, { ...target, leaseUntil: NOW }), 'begun');
      if (goes) await dirs.remove(ann, dirId);
      assert.equal(await fileChanges.finishClone(source, { ...target, now: NOW }), 'done');
      assert.equal(await isStale(documents, target.fileId), goes);
      if (!goes) await dirs.remove(ann, dirId);
    }
  });

  test('an account has an id that no other has, and a document after each change that it tells of', async () => {
    const { accounts, dirs, documents } = stores.one;
    const [ann, ben] = [fresh('u'), fresh('u')];
    assert.ok(await accounts.create(ann, 'hash', 7));
    assert.ok(await stores.two.accounts.create(ben, 'hash', 7));
    const id = (await accounts.idOf(ann))!;
    assert.match(id, /^[0-9a-f]{32}$/);
    assert.notEqual(id, await accounts.idOf(ben));
    assert.equal(await accounts.idOf(fresh('u')), undefined);
    assert.equal(await accounts.create(ann, 'other', 8), false);
    assert.equal(await accounts.idOf(ann), id);

    const secrets = { password_hash: 'hash', keys: null, identity: null, recovery_hash: null };
    const user = { username: ann, created_at: 7, ...secrets, disabled_at: null, ...noLimits };
    const account = async (accountId = id) => {
      const { dirs: found, ...rest } = (await stores.two.documents.account(accountId))!;
      return { ...rest, dirs: found.map((dir) => ({ ...dir })) };
    };
    assert.deepEqual(await account(), { ...user, dirs: [], rev: 1 });
    assert.ok(await isStaleAccount(documents, id));
    await documents.accountWritten(id, 1);
    assert.equal(await isStaleAccount(documents, id), false);

    const dirId = (await dirs.create(ann, 'ż', 9))!;
    assert.equal(await dirs.create(ann, 'ż', 9), undefined);
    assert.deepEqual(await account(), {
      ...user,
      dirs: [{ dir_id: dirId, name: 'ż', created_at: 9 }],
      rev: 2,
    });
    await documents.accountWritten(id, 1);
    assert.ok(await isStaleAccount(documents, id), 'an older one does not do');
    await documents.accountWritten(id, 2);
    assert.equal(await isStaleAccount(documents, id), false);
    await dirs.remove(ben, dirId);
    assert.equal(await isStaleAccount(documents, id), false);
    await dirs.remove(ann, dirId);
    assert.deepEqual(await account(), { ...user, dirs: [], rev: 3 });
    assert.ok(await isStaleAccount(documents, id));
    await documents.accountWritten(id, 3);
    const before = (keys?: string) => ({ username: ann, passwordHash: 'hash', keys });
    assert.equal(await accounts.replaceKeys(before('none'), { keys: 'keys', recoveryHash: 'r' }, 9), false);
    assert.equal(await documents.isStaleAccount(id), false);
    assert.ok(await accounts.replaceKeys(before(undefined), { keys: 'keys', recoveryHash: 'r' }, 9));
    assert.deepEqual(await account(), { ...user, keys: 'keys', recovery_hash: 'r', dirs: [], rev: 4 });
    assert.ok(await documents.isStaleAccount(id));
  });

  test('the administrator has directories, and a document for them', async () => {
    const { accounts, dirs, documents } = stores.one;
    assert.equal(await accounts.idOf(ADMIN), 'admin');
    assert.equal(await accounts.idOf(''), 'none');
    const name = fresh('d');
    const dirId = (await dirs.create(ADMIN, name, 9))!;
    assert.ok(await isStaleAccount(documents, 'admin'));
    const { username, password_hash, dirs: found } = (await documents.account('admin'))!;
    assert.deepEqual({ username, password_hash }, { username: ADMIN, password_hash: null });
    assert.ok(found.some((dir) => dir.dir_id === dirId && dir.name === name));
  });
}
