/** Bugs of what visitors upload. */
import type { Mutant } from '../../scripts/mutants.ts';

const BLACKBOX = 'tests/blackbox/requests.test.ts';
const UPLOADS = 'tests/blackbox/request-uploads.test.ts';
const CONTRACT = 'server/test/metadata.sqlite.test.ts';
const HPKE = 'format/test/hpke.test.ts';

export const mutants: Mutant[] = [
  {
    name: 'visitors upload more than was asked for',
    file: 'server/src/sharing/requests-table.ts',
    find: 'if (left.files < 1 || left.bytes < init.storedSize) return left;',
    replace: 'if (left.files < 1) return left;',
    tests: [CONTRACT],
  },
  {
    name: 'the token of an upload reaches every transfer of the owner',
    file: 'server/src/sharing/request-rows.ts',
    find: 'JOIN transfers t ON t.transfer_id = v.transfer_id\n     WHERE v.token_hash = ? AND v.transfer_id = ? AND',
    replace:
      'JOIN transfers t ON t.creator = c.username\n     WHERE v.token_hash = ? AND t.transfer_id = ? AND',
    tests: [CONTRACT],
  },
  {
    name: 'the token of an upload outlives its request',
    file: 'server/src/sharing/request-rows.ts',
    find: 'AND v.transfer_id = ? AND ${IS_OPEN}`',
    replace: 'AND v.transfer_id = ? AND ? > 0`',
    tests: [CONTRACT],
  },
  {
    name: 'visitors choose the name of a file',
    file: 'server/src/transfers/completion.ts',
    find: 'return { ...file, fileName: deliveryName(sessionId!) };',
    replace: 'return file;',
    tests: [UPLOADS],
  },
  {
    name: 'visitors fill the quota of the owner with a size that they only say',
    file: 'server/src/transfers/completion.ts',
    find: 'if (file.fileSize !== stored_size) throw new RuleError(`file_size: the volumes have ${stored_size} bytes`);',
    replace: '',
    tests: [UPLOADS],
  },
  {
    name: 'an upload that is given up counts for ever',
    file: 'server/src/transfers/transfers-table.ts',
    find: 'await deleteUpload(tx, transferId);',
    replace: '',
    tests: [CONTRACT],
  },
  {
    name: 'visitors upload empty volumes, which nobody counts',
    file: 'protocol/src/sharing/requests.ts',
    find: 'if (volumes.length - 1 > storedSize / limits.requestVolumeBytes)',
    replace: 'if (volumes.length - 1 > storedSize)',
    tests: [BLACKBOX],
  },
  {
    name: 'requests go on under the key before a rekey',
    file: 'client/src/files/reseal.ts',
    find: 'await endRequests(context, run);',
    replace: '',
    tests: ['client/test/reseal.test.ts'],
  },
  {
    name: 'a file that was taken over on another device is dropped as a delivery',
    file: 'client/src/sharing/deliveries.ts',
    find: "if ('szafa' in head.encParams && (await digestOf(context, head)) !== sealed)",
    replace: 'if (!head)',
    tests: ['client/test/deliveries.test.ts'],
  },
  {
    name: 'a service shows what was taken over as a delivery again',
    file: 'client/src/sharing/deliveries.ts',
    find: 'await requireNotTaken(context, record.file_id);',
    replace: '',
    tests: ['client/test/deliveries.test.ts'],
  },
  {
    name: 'HPKE ignores the secret of the link',
    file: 'format/src/hpke.ts',
    find: "const secret = await extract(suite, agreed, 'secret', psk ? requireKey(psk.secret) : EMPTY);",
    replace: "const secret = await extract(suite, agreed, 'secret', EMPTY);",
    tests: [HPKE],
  },
  {
    name: 'a visitor or a sharer gives a key that no engine takes',
    file: 'format/src/sharing/share.ts',
    find: "if (isZero(fileKey)) throw malformed('file_key');",
    replace: '',
    tests: ['client/test/vectors.test.ts'],
  },
  {
    name: 'the id of a share is taken for an option',
    file: 'client/src/sharing/links.ts',
    find: "while (id.startsWith('-'));",
    replace: "while (id === '');",
    tests: ['client/test/requests.test.ts'],
  },
  {
    name: 'a token of an upload by another request has no answer',
    file: 'server/src/sharing/requests.ts',
    find: "if (same === undefined) throw new RuleError('upload_token: another upload has this token');",
    replace: '',
    tests: [UPLOADS],
  },
  {
    name: 'a file that was taken over while deliveries were listed is one of them',
    file: 'client/src/sharing/deliveries.ts',
    find: 'if (doubtful.size === 0) return listed;',
    replace: 'if (listed) return listed;',
    tests: ['client/test/deliveries.test.ts'],
  },
  {
    name: 'a visitor takes as much room on the disk as they open connections',
    file: 'server/src/transfers/upload-slots.ts',
    find: 'this.#count(volumeKey) >= this.#perVolume',
    replace: 'this.#count(volumeKey) < 0',
    tests: [UPLOADS],
  },
];
