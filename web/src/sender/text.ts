/** Words of the page that requests lead to, in both languages: no other page has to load them. */
import { wordsIn } from '../core/text/index.ts';
import type { Tools } from '../core/text/language.ts';

function en({ plural }: Tools) {
  const files = (count: number) => plural(count, { one: 'file', other: 'files' });
  return {
    title: 'Send files',
    what: 'Whoever gave you this link asks you for files. They are encrypted in this page, for them alone. You need no account.',
    takes: (count: number, size: string) => `It takes ${files(count)} more, ${size} in all.`,
    until: (when: string) => `Open until ${when}.`,
    choose: 'Choose files',
    drop: 'Or drop files or folders anywhere on this page.',
    again:
      'If the connection breaks, it goes on by itself. After a reload, choose the interrupted files again: what has arrived of them is not sent twice.',
    sent: (count: number, size: string) => `Sent: ${files(count)}, ${size}.`,
    gone: 'Only whoever asked for them can open them now. You cannot see, change or take them back here: keep your own copies as long as you need them.',
    honest: [
      'The link has a secret behind the #, which your browser does not send to the server. The server stores what you send and cannot read it.',
      'The page itself comes from the server. A hostile server could serve one that reads your files. The command line cannot be fooled so: szafa put FILE --to LINK',
    ],
  };
}

function pl({ plural }: Tools): ReturnType<typeof en> {
  const files = (count: number) =>
    plural(count, { one: 'plik', few: 'pliki', many: 'plików', other: 'pliku' });
  return {
    title: 'Wyślij pliki',
    what: 'Osoba, od której masz ten link, prosi Cię o pliki. Są szyfrowane na tej stronie, tylko dla niej. Nie potrzebujesz konta.',
    takes: (count: number, size: string) => `Można jeszcze wysłać: ${files(count)}, razem ${size}.`,
    until: (when: string) => `Otwarte do: ${when}.`,
    choose: 'Wybierz pliki',
    drop: 'Albo upuść pliki lub foldery gdziekolwiek na tej stronie.',
    again:
      'Gdy połączenie się zerwie, wysyłanie samo ruszy dalej. Po przeładowaniu strony wybierz przerwane pliki jeszcze raz: to, co z nich dotarło, nie jest wysyłane ponownie.',
    sent: (count: number, size: string) => `Wysłano: ${files(count)}, ${size}.`,
    gone: 'Teraz może je otworzyć tylko osoba, która o nie prosiła. Nie można ich tu zobaczyć, zmienić ani cofnąć: zachowaj własne kopie, póki są potrzebne.',
    honest: [
      'Link ma za znakiem # sekret, którego przeglądarka nie wysyła do serwera. Serwer przechowuje to, co wysyłasz, i nie może tego odczytać.',
      'Sama strona pochodzi z serwera. Wrogi serwer mógłby podać taką, która odczyta Twoje pliki. Polecenia nie da się tak oszukać: szafa put PLIK --to LINK',
    ],
  };
}

export const languages = { en, pl };
export const words = wordsIn(languages);
