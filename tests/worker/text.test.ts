/** What people read: about keys that are not those of before, and in which language. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Stage, TamperedError } from '@szafa/client';
import { bytes, fullDate } from '../../web/src/core/format.ts';
import { chosenLanguage } from '../../web/src/core/settings.ts';
import { en } from '../../web/src/core/text/en.ts';
import { aboutKeys, explain, language, speak, text } from '../../web/src/core/text/index.ts';
import { spokenOf, toolsOf } from '../../web/src/core/text/language.ts';
import { pl } from '../../web/src/core/text/pl.ts';
import { languages as sender } from '../../web/src/sender/text.ts';
import { en as sharingEn } from '../../web/src/sharing/text/en.ts';
import { explainShare, here, words as sharing } from '../../web/src/sharing/text/index.ts';
import { pl as sharingPl } from '../../web/src/sharing/text/pl.ts';
import { languages as visited } from '../../web/src/sharing/text/visitor.ts';

const fault = (stage: Stage) => ({ code: 'keys', message: 'from the SDK', stage });

test('each check of the keys that can fail has words, and what to do next', () => {
  const own: [Stage, keyof typeof text.keys][] = [
    ['service', 'service'],
    ['rollback', 'rollback'],
    ['owner', 'owner'],
    ['no-bag', 'no-bag'],
  ];
  const broken: Stage[] = ['bag', 'entry', 'bag-mac', 'masters'];
  for (const [stage, words] of [...own, ...broken.map((stage) => [stage, 'damaged'] as const)]) {
    assert.ok(new TamperedError(stage, '').aboutKeys, stage);
    const { title, why, next } = aboutKeys(fault(stage));
    assert.equal(title, text.keys[words].title);
    assert.ok(next.length >= 2, stage);
    assert.equal(explain(fault(stage)), `${title}. ${why}`);
  }
});

test('a code or a status means what it means where it came up, and else what it means anywhere', () => {
  const wrong = { code: 'wrong-password', message: 'x' };
  assert.match(explain(wrong), /doesn’t open the files/);
  assert.equal(explain(wrong, { 'wrong-password': 'Here.' }), 'Here.');
  const refused = { code: 'api', message: 'x', status: 403 };
  assert.equal(explain(refused, { 403: 'There.' }), 'There.');
  assert.match(explain(refused), /doesn’t allow/);
});

test('of a share that does not open it is said why, and every failure of contacts has words', () => {
  const why = (code: string, stage?: string) =>
    explainShare('ada', { code, message: 'from the SDK', ...(stage !== undefined && { stage }) });
  const { received, codes } = sharing;
  assert.equal(why('contact-changed'), received.changed('ada'));
  for (const stage of ['expired', 'used up', 'ended', 'unknown'] as const)
    assert.equal(why('link-over', stage), received.over[stage]);
  assert.equal(why('link-over', 'a reason of later servers'), received.over.ended);
  // What nobody could have made who is who they say, whatever part of it is wrong.
  for (const stage of ['identity', 'letter', 'link'])
    assert.equal(why('tampered', stage), received.broken('ada'));
  assert.equal(why('keys', 'identity'), received.broken('ada'));
  assert.equal(why('network'), text.codes.network);
  assert.equal(why('gone'), text.codes.gone);
  assert.equal(why('no-such-keys'), codes['no-such-keys']);
  assert.equal(explain({ code: 'no-contact', message: 'x' }, here()), codes['no-contact']);
  assert.equal(explain({ code: 'api', message: 'x', status: 429 }, here()), sharing.tooOften);
});

/** Every word of a language, by its place. */
function* wordsIn(value: unknown, at = ''): Generator<[at: string, kind: string, words: unknown]> {
  if (typeof value !== 'object' || value === null) yield [at, typeof value, value];
  else for (const [key, inner] of Object.entries(value)) yield* wordsIn(inner, `${at}.${key}`);
}

test('Polish says all that English says, and says it in Polish', () => {
  const [inEnglish, inPolish] = [toolsOf('en'), toolsOf('pl')];
  const english = [
    ...wordsIn({
      ...en(inEnglish),
      sharing: sharingEn(inEnglish),
      sender: sender.en(inEnglish),
      visited: visited.en(inEnglish),
    }),
  ];
  const polish = [
    ...wordsIn({
      ...pl(inPolish),
      sharing: sharingPl(inPolish),
      sender: sender.pl(inPolish),
      visited: visited.pl(inPolish),
    }),
  ];
  const shape = (all: typeof english) => all.map(([at, kind]) => `${at} ${kind}`).sort();
  // The compiler sees to names and kinds, not to the lengths of lists.
  assert.deepEqual(shape(polish), shape(english));
  const translated = new Map(polish.map(([at, , words]) => [at, words]));
  const same = english.filter(([at, , words]) => typeof words === 'string' && translated.get(at) === words);
  const isWord = ([, , words]: (typeof english)[number]) => /[a-z]{3}/.test(words as string);
  const isKey = ([at]: (typeof english)[number]) => /^\.about\.shortcuts\.\d+\.0$/.test(at);
  assert.deepEqual(
    same.filter((one) => isWord(one) && !isKey(one) && one[2] !== 'szafa'),
    [],
  );
});

test('numbers take the plural forms of the language', () => {
  const polish = pl(toolsOf('pl')).list.count;
  const forms: [number, string][] = [
    [0, '0 plików'],
    [1, '1 plik'],
    [2, '2 pliki'],
    [4, '4 pliki'],
    [5, '5 plików'],
    [12, '12 plików'],
    [14, '14 plików'],
    [22, '22 pliki'],
    [25, '25 plików'],
    [112, '112 plików'],
    [12_345, '12 345 plików'],
  ];
  for (const [count, words] of forms) assert.equal(polish(count).replace(/\s/g, ' '), words);
  const english = en(toolsOf('en')).list.count;
  assert.deepEqual([0, 1, 2, 12_345].map(english), ['0 files', '1 file', '2 files', '12,345 files']);
});

test('the first language of the browser that the page speaks', () => {
  const wishes: [string[], string][] = [
    [['pl-PL', 'en'], 'pl'],
    [['pl'], 'pl'],
    [['de-DE', 'PL', 'en'], 'pl'],
    [['en-GB', 'pl'], 'en'],
    [['de', 'toString'], 'en'],
    [[], 'en'],
  ];
  for (const [wish, spoken] of wishes) assert.equal(spokenOf(wish), spoken, wish.join());
});

test('words that were read before a change of the language are the new ones afterwards', async () => {
  const captured = text.account.password;
  assert.equal(captured.do, 'Change password');
  assert.match(bytes(1_500_000), /^1\.4 MB$/);
  chosenLanguage.value = 'pl';
  await speak();
  try {
    assert.equal(language(), 'pl');
    assert.equal(captured.do, 'Zmień hasło');
    assert.match(bytes(1_500_000), /^1,4 MB$/);
    assert.match(fullDate(Date.UTC(2020, 5, 15, 12)), /^15 cze 2020/);
    assert.equal(explain({ code: 'name', message: 'the directory name is empty' }), 'Nazwa jest pusta.');
  } finally {
    chosenLanguage.value = 'auto';
    await speak();
  }
  assert.equal(
    explain({ code: 'name', message: 'the directory name is empty' }),
    'The folder name is empty.',
  );
});
