/** Text about shared files in all languages, kept out of the app's first load. */
import { wordsIn } from '../../core/text/index.ts';
import type { Tools } from '../../core/text/language.ts';

function en({ plural }: Tools) {
  return {
    until: (when: string) => `Available until ${when}.`,
    left: (count: number) =>
      `${plural(count, { one: 'download', other: 'downloads' })} left. The first preview or download counts; everything you do in this tab within a day is the same download.`,
    last: 'The last download has started in this tab. You can continue it for a day.',
    symbolicLink: 'symbolic link, left out; szafa get creates it',
    locked: 'Enter the passphrase',
    lockedWhy: 'This link is protected with a passphrase. Ask the person who sent it to you.',
    trust: [
      'The files are encrypted. The key is in the link, after the #: your browser doesn’t send it to the server, and opens the files on your device.',
      'The page itself comes from the server, and a hostile server could send one that steals the key. For stronger protection, use the CLI: szafa get LINK',
    ],
  };
}

function pl({ plural }: Tools): ReturnType<typeof en> {
  return {
    until: (when) => `Dostępne do: ${when}.`,
    left: (count) =>
      `Pozostało: ${plural(count, { one: 'pobranie', few: 'pobrania', many: 'pobrań', other: 'pobrania' })}. Liczy się pierwszy podgląd lub pobranie; wszystko, co robisz w tej karcie w ciągu doby, to jedno pobranie.`,
    last: 'Ostatnie pobranie rozpoczęto w tej karcie. Możesz je kontynuować przez dobę.',
    symbolicLink: 'dowiązanie symboliczne, pominięte; utworzy je szafa get',
    locked: 'Wpisz hasło',
    lockedWhy: 'Ten link jest chroniony hasłem. Zapytaj o nie osobę, która go przysłała.',
    trust: [
      'Pliki są zaszyfrowane. Klucz jest w linku, po znaku #: przeglądarka nie wysyła go do serwera i otwiera pliki na Twoim urządzeniu.',
      'Sama strona pochodzi z serwera, a wrogi serwer mógłby podać taką, która wykradnie klucz. Lepszą ochronę daje wiersz poleceń: szafa get LINK',
    ],
  };
}

export const languages = { en, pl };
export const words = wordsIn(languages);
