/** Words of what somebody shares, in both languages, that the first load of the app does not need. */
import { wordsIn } from '../../core/text/index.ts';
import type { Tools } from '../../core/text/language.ts';

function en({ plural }: Tools) {
  return {
    until: (when: string) => `Available until ${when}.`,
    left: (count: number) =>
      `${plural(count, { one: 'download', other: 'downloads' })} left. The first preview or download counts; all that you do in this tab within a day is one.`,
    last: 'The last download has begun, in this tab: you can go on with it for a day.',
    symbolicLink: 'symbolic link, left out; szafa get makes it',
    locked: 'A passphrase is needed',
    lockedWhy: 'Whoever sent you this link has protected it with a passphrase as well. Ask them for it.',
    honest: [
      'The files are encrypted. The key is in the link, behind the #: your browser does not send it to the server, and opens the files in this page.',
      'The page itself comes from the server. A hostile server could serve one that takes the key. The command line cannot be fooled so: szafa get LINK',
    ],
  };
}

function pl({ plural }: Tools): ReturnType<typeof en> {
  return {
    until: (when: string) => `Dostępne do: ${when}.`,
    left: (count: number) =>
      `Pozostało: ${plural(count, { one: 'pobieranie', few: 'pobierania', many: 'pobierań', other: 'pobierania' })}. Liczy się pierwszy podgląd lub pobranie; wszystko, co robisz w tej karcie w ciągu doby, to jedno pobieranie.`,
    last: 'Ostatnie pobieranie zaczęło się w tej karcie: można je tu kontynuować przez dobę.',
    symbolicLink: 'dowiązanie symboliczne, pominięte; utworzy je szafa get',
    locked: 'Potrzebne jest hasło',
    lockedWhy: 'Osoba, która wysłała ten link, zabezpieczyła go dodatkowo hasłem. Zapytaj ją o nie.',
    honest: [
      'Pliki są zaszyfrowane. Klucz jest w linku, za znakiem #: przeglądarka nie wysyła go do serwera i otwiera pliki na tej stronie.',
      'Sama strona pochodzi z serwera. Wrogi serwer mógłby podać taką, która przejmie klucz. Polecenia nie da się tak oszukać: szafa get LINK',
    ],
  };
}

export const languages = { en, pl };
export const words = wordsIn(languages);
