/** One file, although a long one: its tests share PostgreSQL and Ceph. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { type Directory, noLimits, pathOf } from '@szafa/protocol';
import { streamBody } from '../../server/src/platform/volumes/body.ts';
import type { AccountDocument, Manifest, VolumeStore } from '../../server/src/platform/volumes/store.ts';
import {
  admin,
  assertOk,
  assertReadable,
  begin,
  checkInvariants,
  complete,
  eventually,
  listFiles,
  makeDir,
  makeFile,
  putAll,
  register,
  type Service,
  type Uploaded,
  User,
  upload,
  usually,
} from '../harness/index.ts';
import { useEngines } from './commands.ts';
import { documentTests } from './documents.ts';
import { House } from './house.ts';
import { Kept } from './kept.ts';
import { S3Proxy } from './s3-proxy.ts';

const engines = useEngines();
/** Two pairs that together use all four kinds of stores. */
const KINDS = ['SQLite and a folder', 'PostgreSQL and S3'] as const;

documentTests(engines, KINDS);

async function manifestOf(store: VolumeStore, fileId: string): Promise<Manifest> {
  return (await store.manifest(fileId))!;
}

async function accountOf(store: VolumeStore, username: string): Promise<AccountDocument | undefined> {
  for await (const id of store.accounts()) {
    const document = await store.account(id);
    if (document?.username === username) return document;
  }
  return undefined;
}

async function login(service: Service, { username, password }: User): Promise<User> {
  const answer = await service.call({ method: 'POST', path: pathOf('login'), json: { username, password } });
  assert.equal(answer.status, 200, answer.text);
  return new User(service, username, password, String(answer.json['token']));
}

const dirsOf = async (user: User) => (await user.get(pathOf('listDirs'))).json['dirs'] as Directory[];
const move = async (user: User, fileId: string, dir_id: number) =>
  assertOk(await user.put(pathOf('moveFile', { file_id: fileId }), { dir_id }));
const namesOf = (dirs: { dir_id: number; name: string }[]) => dirs.map(({ dir_id, name }) => [dir_id, name]);
const byDir = async (user: User) =>
  (await listFiles(user)).map(({ file_id, dir_name }) => [file_id, dir_name]);

for (const kind of usually(KINDS.slice(0, 1), KINDS)) {
  describe(`rescue: ${kind}`, () => {
    test('documents follow their records, and all comes back from them: users log in as before', async () => {
      const house = new House(engines, kind);
      const service = await house.start();
      const store = house.look();
      const [ann, ben, system] = [await register(service), await register(service), admin(service)];
      const keys = randomBytes(100).toString('base64url');
      const recovery = randomBytes(32).toString('base64url');
      const first = { headers: { 'if-none-match': '*' }, json: { password: ann.password, keys, recovery } };
      assertOk(await ann.call('PUT', pathOf('writeKeys'), first));
      const known = (await service.call({ path: pathOf('service') })).json;
      const [papers, old] = [await makeDir(ann, 'papers ż'), await makeDir(ann, 'old')];
      const benDir = await makeDir(ben, 'lost name');
      const systemDir = await makeDir(system, 'system');
      const made: Uploaded[] = [];
      for (const dir_id of [0, papers, old, 0]) made.push(await upload(ann, makeFile([1000, 5], { dir_id })));
      const [moved, , inOld] = made.map(({ fileId }) => fileId);
      const bens = await upload(ben, makeFile([10], { dir_id: benDir }));
      const systems = await upload(system, makeFile([11], { dir_id: systemDir }));
      const kept = await Kept.fill(service);

      // Settings of the operator for an account must survive.
      const other = await register(service);
      const limits = { quota_bytes: 12_345, pulls: 2 };
      assertOk(await system.put(pathOf('limitAccount', { username: other.username }), limits));
      assertOk(await system.post(pathOf('disableAccount', { username: other.username })));

      await move(ann, moved!, old);
      await eventually(async () => {
        const { dir_id, rev } = await manifestOf(store, moved!);
        assert.deepEqual({ dir_id, rev }, { dir_id: old, rev: 1 });
      });
      assertOk(await ann.delete(pathOf('deleteDir', { dir_id: old })));
      await move(ann, moved!, papers);
      await eventually(async () => {
        assert.equal((await manifestOf(store, moved!)).dir_id, papers);
        assert.equal((await manifestOf(store, inOld!)).dir_id, 0);
        assert.deepEqual(namesOf((await accountOf(store, ann.username))!.dirs), [[papers, 'papers ż']]);
        assert.equal((await accountOf(store, ann.username))!.keys, keys);
        assert.equal((await accountOf(store, ben.username))?.dirs.length, 1);
        const document = await accountOf(store, other.username);
        assert.deepEqual([document!.limits, typeof document!.disabled_at], [limits, 'string']);
        assert.deepEqual(namesOf((await accountOf(store, 'admin'))!.dirs), [[systemDir, 'system']]);
        assert.deepEqual(await house.query('SELECT file_id FROM stale_manifests'), []);
        assert.deepEqual(
          await house.query('SELECT account_id FROM account_documents WHERE rev > written_rev'),
          [],
        );
      });
      const id = (await accountOf(store, ann.username))!.account_id;
      assert.equal((await manifestOf(store, moved!)).account_id, id);
      assert.notEqual(id, (await accountOf(store, ben.username))!.account_id);
      if (kind.endsWith('folder')) {
        assert.equal((await stat(join(service.data, 'accounts', `${id}.json`))).mode & 0o777, 0o600);
      }
      const before = { list: await byDir(ann), dirs: await dirsOf(ann) };
      await service.terminate();

      const passwords = join(engines.home, `passwords ${kind}`);
      const rescue = ['rescue', '--json', '--passwords', passwords];
      const full = await house.run(...rescue);
      assert.equal(full.code, 2, 'a database that is not empty is left alone');
      assert.match(full.errors, /rescue --missing/);
      await house.useDatabase('rescued');
      // An invalid account document counts as missing.
      const broken = (await accountOf(store, ben.username))!;
      await store.writeAccount({ ...broken, password_hash: 'x' });
      // Manifests that no service would write are rejected.
      const manifest = await manifestOf(store, systems.fileId);
      for (const over of [
        { account_id: randomBytes(16).toString('hex'), owner: 'admin' },
        { account_id: '../../x' },
        { created_at: '+275760-09-13T00:00:00.000Z' },
        { volumes: [], chunk_count: 1 },
        { volumes: [{ ...manifest.volumes[0]!, size: -1 }] },
      ]) {
        const file_id = randomBytes(16).toString('hex');
        const body = streamBody(Readable.from(systems.file.volumes));
        await store.putFile({ ...manifest, ...over, file_id }, manifest.volumes![0]!, body);
      }
      // A file with a missing volume is not rescued.
      const whole = await manifestOf(store, moved!);
      assert.equal(whole.volumes?.length, 2);
      const only = streamBody(Readable.from([made[0]!.file.volumes[0]!]));
      await store.putFile({ ...whole, file_id: randomBytes(16).toString('hex') }, whole.volumes[0]!, only);
      const result = await house.run(...rescue);
      assert.equal(result.code, 1, result.errors);
      assert.deepEqual(result.lines.flatMap((line) => line['problem'] ?? []).sort(), [
        ...Array(5).fill('documents that cannot be read'),
        'files of an unknown account',
        'files that lack volumes',
      ]);
      assert.deepEqual(await house.query("SELECT username FROM accounts WHERE username = 'admin'"), []);
      const { files, accounts } = result.lines.at(-1)!;
      assert.deepEqual({ files, accounts }, { files: 10, accounts: 5 });
      assert.equal((await house.run(...rescue)).code, 2, 'it is a database like any other now');

      await house.start();
      const again = await system.get(pathOf('showAccount', { username: other.username }));
      assertOk(again);
      assert.deepEqual(again.json['limits'], { ...noLimits, ...limits });
      assert.equal(typeof again.json['disabled_at'], 'string');
      const same = await login(service, ann);
      assertOk(await service.call({ path: pathOf('service') }), known);
      assertOk(await same.get(pathOf('readKeys')), { keys });
      const json = { username: ann.username, recovery };
      assertOk(await service.call({ method: 'POST', path: pathOf('recover'), json }));
      assert.deepEqual({ list: await byDir(same), dirs: await dirsOf(same) }, before);
      for (const { fileId, file } of made) await assertReadable(same, fileId, file);
      assert.equal((await stat(passwords)).mode & 0o777, 0o600);
      const [[username, password] = [], ...more] = (await readFile(passwords, 'utf8'))
        .trim()
        .split('\n')
        .map((line) => line.split(' '));
      assert.deepEqual([username, more], [ben.username, []]);
      const sameBen = await login(service, new User(service, ben.username, password!, ''));
      await assertReadable(sameBen, bens.fileId, bens.file);
      assert.deepEqual(namesOf(await dirsOf(sameBen)), [[benDir, `rescued ${benDir}`]]);
      assert.deepEqual(await byDir(system), [[systems.fileId, 'system']]);
      await kept.assertIn(service, { token: (await login(service, kept.user)).token, shares: false });
      const { fileId: newest } = await upload(same, makeFile([3], { dir_id: await makeDir(same, 'new') }));
      assert.equal((await listFiles(same))[0]!.file_id, newest);
      for (const user of [same, sameBen, system]) await checkInvariants(service, user.token);
      await eventually(async () => {
        assert.deepEqual(namesOf((await accountOf(store, ben.username))!.dirs), [
          [benDir, `rescued ${benDir}`],
        ]);
      });
      await service.stop();
    });

    test('--missing takes what an older database lacks, by the id of the account, and nothing else', async () => {
      const house = new House(engines, kind);
      const service = await house.start();
      const store = house.look();
      const ann = await register(service);
      const papers = await makeDir(ann, 'papers');
      const first = await upload(ann, makeFile([100], { dir_id: papers }));
      const pending = makeFile([20, 30]);
      const transferId = await begin(ann, pending);
      await house.copyDatabase('old');
      await house.copyDatabase('other');
      // A start renews the mark in the store that identifies its database.
      await house.start();

      await putAll(ann, transferId, pending);
      const finished = String((await complete(ann, transferId)).json['file_id']);
      const inPapers = await upload(ann, makeFile([7], { dir_id: papers }));
      const later = await upload(ann, makeFile([8], { dir_id: await makeDir(ann, 'later') }));
      const doomed = await upload(ann, makeFile([9]));
      const carol = await register(service);
      const carols = await upload(carol, makeFile([70_000], { dir_id: await makeDir(carol, 'carols') }));
      await eventually(async () => {
        assert.equal((await accountOf(store, carol.username))?.dirs.length, 1);
        assert.equal((await accountOf(store, ann.username))?.dirs.length, 2);
      });
      await service.terminate();
      const volumes = await house.volumes();
      const missing = ['rescue', '--missing', '--json'];
      const files = async () => (await house.query('SELECT file_id FROM files')).length;

      await house.useDatabase('other');
      // In this database another account has carol's name, and a file was deleted.
      await house.query(
        `INSERT INTO accounts (username, account_id, password_hash, created_at) VALUES ('${carol.username}', 'x', 'h', 1)`,
      );
      await house.query(`INSERT INTO garbage (file_id, not_before) VALUES ('${doomed.fileId}', 0)`);
      // An account was deleted too, but its document still exists.
      const dave = { account_id: randomBytes(16).toString('hex'), username: `dave_${house.id}` };
      await store.writeAccount({ ...(await accountOf(store, carol.username))!, ...dave });
      await house.query(`INSERT INTO account_documents VALUES ('${dave.account_id}', 2, 1)`);
      const told = await house.run(...missing, '--dry-run');
      assert.equal(told.code, 1, told.errors);
      assert.equal(told.lines.at(-1)!['files'], 3);
      assert.equal(await files(), 1, 'it has only told');
      const result = await house.run(...missing);
      assert.equal(result.code, 1, result.errors);
      assert.deepEqual(
        result.lines
          .filter((line) => 'problem' in line)
          .map(({ problem, file, username }) => [problem, file ?? username]),
        [
          ['accounts whose name is taken', carol.username],
          ['files of an unknown account', carols.fileId],
        ],
      );
      assert.equal(await files(), 4);
      assert.deepEqual(
        await house.query(`SELECT file_id FROM files WHERE owner = '${carol.username}'`),
        [],
        'a name that is taken again gets nothing',
      );
      assert.deepEqual(await house.query(`SELECT 1 FROM accounts WHERE username = '${dave.username}'`), []);
      await store.removeAccount(dave.account_id);
      assert.deepEqual(await house.volumes(), volumes);

      // The service on the older database notices that another database has used the store since.
      await house.useDatabase('old');
      await house.start();
      const contested = async () =>
        (await house.query('SELECT contested_at FROM store'))[0]!['contested_at'] !== null;
      await eventually(async () => assert.ok(await contested()));
      await service.terminate();
      const dry = await house.run(...missing, '--dry-run');
      assert.equal(dry.code, 0, dry.errors);
      const taken = [finished, inPapers.fileId, later.fileId, doomed.fileId, carols.fileId].sort();
      assert.deepEqual(dry.lines.flatMap(({ file }) => file ?? []).sort(), taken);
      assert.deepEqual(
        dry.lines.flatMap(({ account }) => account ?? []),
        [carol.username],
      );
      assert.equal(await files(), 1, 'it has only told');
      assert.ok(await contested());
      const all = await house.run(...missing);
      assert.equal(all.code, 0, all.errors);
      assert.equal(await contested(), false);
      assert.deepEqual(all.lines.flatMap(({ file }) => file ?? []).sort(), taken);
      const again = await house.run(...missing);
      assert.deepEqual(again.lines, [{ ok: true }], again.errors);

      await house.start();
      const [sameAnn, sameCarol] = [await login(service, ann), await login(service, carol)];
      const places = new Map((await byDir(sameAnn)) as [string, string][]);
      assert.equal(places.size, 5);
      assert.equal(places.get(first.fileId), 'papers');
      assert.equal(places.get(inPapers.fileId), 'papers');
      assert.equal(places.get(later.fileId), '', 'an unknown directory means the root');
      assert.deepEqual(await byDir(sameCarol), [[carols.fileId, 'carols']]);
      await assertReadable(sameAnn, finished, pending);
      assert.equal((await complete(sameAnn, transferId)).json['file_id'], finished, 'as it was answered');
      await makeDir(sameAnn, 'new');
      for (const user of [sameAnn, sameCarol]) await checkInvariants(service, user.token);
      // The documents are soon updated to match the records.
      await eventually(async () => {
        assert.equal((await manifestOf(store, later.fileId)).dir_id, 0);
        assert.deepEqual(await house.query('SELECT file_id FROM stale_manifests'), []);
      });
      await service.stop();
    });
  });
}

test('a rescue that was killed is run again; no service starts on what it left', async () => {
  const house = new House(engines, 'PostgreSQL and S3');
  const service = await house.start();
  const [ann, ben] = [await register(service), await register(service)];
  const made: Uploaded[] = [];
  for (let at = 0; at < 12; at++) made.push(await upload(at % 2 ? ann : ben, makeFile([100 + at])));
  const store = house.look();
  await eventually(async () => assert.ok(await accountOf(store, ann.username)));
  await eventually(async () => assert.ok(await accountOf(store, ben.username)));
  const before = [await byDir(ann), await byDir(ben)];
  await service.terminate();
  const broken = (await accountOf(store, ben.username))!;
  await store.writeAccount({ ...broken, rev: -0.5 });
  await house.useDatabase('rescued');

  const passwords = join(engines.home, 'passwords-killed');
  const args = ['rescue', '--json', '--passwords', passwords];
  let reads = 0;
  const proxy = await S3Proxy.start(engines.ceph, {
    instead: ({ method, url }) => {
      if (method !== 'GET' || !url!.includes(`/${house.id}/files/`) || ++reads < 10) return false;
      // Never answer this request. Kill the command once some files are in the database.
      void eventually(async () => assert.ok((await house.query('SELECT 1 FROM files')).length > 0)).finally(
        () => command.kill(),
      );
      return true;
    },
  });
  const command = engines.begin(args, {
    SZ_DATA: service.data,
    ...house.environment,
    SZ_VOLUMES: proxy.url(house.id),
  });
  assert.equal((await command.ended).code, null, 'it was killed');
  proxy.stop();
  assert.match(await house.refused(), /szafa-server rescue/);
  // PostgreSQL has finished the last statements of the killed process by now.
  const rescued = (await house.query('SELECT 1 FROM files')).length;
  assert.ok(rescued > 0 && rescued < made.length, String(rescued));

  const again = await house.run(...args);
  assert.equal(again.code, 1, again.errors);
  assert.equal(again.lines.at(-1)!['files'], made.length - rescued);
  await house.start();
  const lines = (await readFile(passwords, 'utf8')).trim().split('\n');
  const [name, password = ''] = lines.at(-1)!.split(' ');
  assert.equal(name, ben.username);
  const users = [
    await login(service, ann),
    await login(service, new User(service, ben.username, password, '')),
  ];
  assert.deepEqual([await byDir(users[0]!), await byDir(users[1]!)], before);
  for (const user of users) await checkInvariants(service, user.token);
  assert.ok(existsSync(passwords));
  await service.stop();
});
