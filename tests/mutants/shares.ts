/** Bugs of what is shared. */
import type { Mutant } from '../../scripts/mutants.ts';

const BLACKBOX = 'tests/blackbox/shares.test.ts';
const CONTRACT = 'server/test/metadata.sqlite.test.ts';
const VECTORS = 'client/test/vectors.test.ts';
const CROSS = 'tests/cross/links.test.ts';

const PAGE = 'tests/worker/links.test.ts';
const ASKED = 'tests/web/requests.test.ts';
const SETUP = 'tests/setup/page.test.ts';

export const mutants: Mutant[] = [
  {
    name: 'the page shares a folder with what is above it in the names',
    file: 'web/src/worker/links.ts',
    find: "(above === '' ? path : path.slice(above.length + 1))",
    replace: 'path',
    tests: [PAGE],
  },
  {
    name: 'two files of one name are one in a link of the page',
    file: 'web/src/worker/links.ts',
    find: 'if (new Set(items.map(({ name }) => name)).size === items.length) return items;',
    replace: 'if (items.length > 0) return items;',
    tests: [PAGE],
  },
  {
    name: 'a changed volume is told as a changed link',
    file: 'web/src/text.ts',
    find: "code === 'tampered' && /^(link|link-key|share|request)$/.test(stage)",
    replace: "code === 'tampered'",
    tests: [PAGE],
  },
  {
    name: 'the page of links answers at every address below /s/',
    file: 'server/src/http/page.ts',
    find: "'/s/:id([A-Za-z0-9_-]{22})'",
    replace: "'/s/*'",
    tests: [SETUP],
  },
  {
    name: 'the page of requests answers at every address below /r/',
    file: 'server/src/http/page.ts',
    find: "'/r/:id([A-Za-z0-9_-]{22})'",
    replace: "'/r/*'",
    tests: [SETUP],
  },
  {
    name: 'a visitor who gives an upload up leaves it to count in the request',
    file: 'client/src/shares/request-upload.ts',
    find: 'await found?.api.cancel(found.remembered.state.transferId, { signal });',
    replace: '',
    tests: [ASKED],
  },
  {
    name: 'a file that a visitor chooses again after a reload is sent beside the one that waits for it',
    file: 'web/src/sender/asked.ts',
    find: '!joined.has(file)',
    replace: 'file.size >= 0',
    tests: [ASKED],
  },
  {
    name: 'a ticket is given although none is left',
    file: 'server/src/metadata/shares.ts',
    find: "if (share.downloads !== null && share.downloaded >= share.downloads) return 'used up';",
    replace: '',
    tests: [CONTRACT],
  },
  {
    name: 'the same ticket counts again',
    file: 'server/src/metadata/shares.ts',
    find: 'if (there && there.expires_at > now) return { expiresAt: there.expires_at, isNew: false };',
    replace: '',
    tests: [CONTRACT],
  },
  {
    name: 'a share opens for whoever knows its id',
    file: 'server/src/metadata/shares.ts',
    find: "'accessHash' in door ? door.accessHash === accessHash : door.recipientId === recipientId;",
    replace: "'accessHash' in door ? accessHash !== null : door.recipientId === recipientId;",
    tests: [CONTRACT],
  },
  {
    name: 'what is in the trash is served to visitors',
    file: 'server/src/metadata/received.ts',
    find: ' AND f.owner = s.owner AND f.trashed_at = 0',
    replace: ' AND f.owner = s.owner',
    tests: [BLACKBOX],
  },
  {
    name: 'visitors get the enc_params of the owner',
    file: 'server/src/http/volumes/reply.ts',
    find: '...(!forVisitor && { [headers.encParams]: toBase64(file.enc_params) }),',
    replace: '[headers.encParams]: toBase64(file.enc_params),',
    tests: [BLACKBOX],
  },
  {
    name: 'the header of a link is not compared with the link',
    file: 'client/src/format/link.ts',
    find: 'if (!equal(await digestOf(engine, header), digest)) {',
    replace: 'if (digest.length === 0) {',
    tests: [VECTORS],
  },
  {
    name: 'every run of get takes a new ticket of a link',
    file: 'cli/src/get/opened.ts',
    find: "if (batch.failed === 0 && !flags['dry-run']) for (const",
    replace: 'for (const',
    tests: [CROSS],
  },
  {
    name: 'every server is shown the ticket of a link of that id',
    file: 'cli/src/get/opened.ts',
    find: '`ticket\\0${server}\\0${id}`',
    replace: '`ticket\\0${id}`',
    tests: ['tests/attacks/hostile-link.test.ts'],
  },
  {
    name: 'a link writes through the links that are in its way',
    file: 'cli/src/get/destination.ts',
    find: 'if (!stats.isSymbolicLink()) throw',
    replace: 'if (stats.isSymbolicLink()) return; else throw',
    tests: ['tests/attacks/hostile-link.test.ts'],
  },
  {
    name: 'a share with an account opens for every account',
    file: 'server/src/metadata/shares.ts',
    find: ': door.recipientId === recipientId;',
    replace: ': recipientId !== null;',
    tests: [CONTRACT],
  },
  {
    name: 'a ticket reads on when the account is disabled that it was shared with',
    file: 'server/src/metadata/shares.ts',
    find: ' OR EXISTS (SELECT 1 FROM users r WHERE r.account_id = s.recipient_id AND ',
    replace: ' OR EXISTS (SELECT 1 FROM users r WHERE r.account_id = s.recipient_id OR ',
    tests: [CONTRACT],
  },
  {
    name: 'what was shared with an account stays open when it is deleted',
    file: 'server/src/domain/departures.ts',
    find: 'while ((await departures.endReceived(account, this.#now(), SHARES_AT_ONCE)) > 0);',
    replace: 'while (false);',
    tests: ['tests/blackbox/account-shares.test.ts'],
  },
  {
    name: 'the letter of another share is taken',
    file: 'client/src/format/letter.ts',
    find: "bytesOf(shareId, 'letter', 'the id of the share', 16),",
    replace: "bytesOf(shareId, 'letter', 'the id of the share', 16).fill(0),",
    tests: [VECTORS],
  },
  {
    name: 'a letter is opened whoever signed it',
    file: 'client/src/format/letter.ts',
    find: 'if (!(await ed25519Verify(from.ed25519, signature, concat(info, sealed))))',
    replace: 'if (signature.length === 0)',
    tests: [VECTORS],
  },
  {
    name: 'other keys than the pinned ones are used',
    file: 'client/src/shares/contacts.ts',
    find: '=> pin.digest === digest.toHex();',
    replace: '=> pin.digest.length > 0 && digest.length > 0;',
    tests: ['client/test/account-shares.test.ts'],
  },
  {
    name: 'keys count as compared that nobody has seen',
    file: 'client/src/shares/contacts.ts',
    find: "if (!pin) throw new SzafaError('not-seen', `the keys of ${name} have never been seen on this device`);",
    replace: 'if (!pin) return this.#keep(await this.#find(name, signal), signal);',
    tests: ['client/test/account-shares.test.ts'],
  },
  {
    name: 'a sender may be called as nobody can be',
    file: 'client/src/shares/contacts.ts',
    find: 'if (!isUsername(username))',
    replace: "if (username === '')",
    tests: ['client/test/account-shares.test.ts'],
  },
  {
    name: 'of two processes that pin an account the last one counts',
    file: 'client/src/node/file-contacts.ts',
    find: 'const isFirst = await writeFirst(pathOf(contact), textOf(contact, pin));',
    replace: 'const isFirst = !(await writeWhole(pathOf(contact), textOf(contact, pin)));',
    tests: ['client/test/account-shares.test.ts'],
  },
  {
    name: 'the service says which share is the latest',
    file: 'client/src/shares/to-account.ts',
    find: 'return shares.sort((a, b) => time(b) - time(a));',
    replace: 'return time(shares[0]!) < 0 ? shares.reverse() : shares;',
    tests: ['client/test/account-shares.test.ts'],
  },
  {
    name: 'names are found out by sharing something with each',
    file: 'server/src/domain/shares.ts',
    find: 'if (to) await this.#requireFewNames(accountId);',
    replace: '',
    tests: ['tests/blackbox/account-shares.test.ts'],
  },
  {
    name: 'an id may have stray bits',
    file: 'protocol/src/share-parts.ts',
    find: "'[A-Za-z0-9_-]{21}[AQgw]'",
    replace: "'[A-Za-z0-9_-]{22}'",
    tests: ['tests/blackbox/account-shares.test.ts'],
  },
  {
    name: 'keys that changed do not stop get where another share is bad, too',
    file: 'cli/src/get/shared.ts',
    find: 'if (changed) throw changed;',
    replace: 'if (changed === problems[0] && changed) throw changed;',
    tests: ['cli/test/links.test.ts'],
  },
  {
    name: 'a path in a zip may be longer than any that can be opened',
    file: 'web/src/worker/zip.ts',
    find: 'return length <= MOST_PATH_BYTES;',
    replace: 'return length >= 0;',
    tests: ['tests/worker/zip.test.ts'],
  },
];
