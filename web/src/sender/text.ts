/** Text of the page behind a request link, in all languages. No other page loads it. */
import { wordsIn } from '../core/text/index.ts';
import type { Tools } from '../core/text/language.ts';

function en({ plural }: Tools) {
  const files = (count: number) => plural(count, { one: 'file', other: 'files' });
  return {
    title: 'Send files',
    what: 'The person who gave you this link is asking for files. They’re encrypted on your device, for that person only. You don’t need an account.',
    takes: (count: number, size: string) =>
      `You can send up to ${plural(count, { one: 'more file', other: 'more files' })} (${size}).`,
    until: (when: string) => `Open until ${when}.`,
    choose: 'Choose files',
    drop: 'Or drop files or folders anywhere on this page.',
    again:
      'If the connection breaks, uploads resume by themselves. After a reload, choose the interrupted files again: only the rest is uploaded.',
    sent: (count: number, size: string) => `Sent: ${files(count)}, ${size}.`,
    gone: 'Only the person who asked for them can open them now. You can’t see, change or take them back here, so keep your own copies as long as you need them.',
    trust: [
      'The link has a secret after the #, which your browser doesn’t send to the server. The server stores what you send and can’t read it.',
      'The page itself comes from the server, and a hostile server could send one that reads your files. For stronger protection, use the CLI: szafa put FILE --to LINK',
    ],
  };
}

function pl({ plural }: Tools): ReturnType<typeof en> {
  const files = (count: number) =>
    plural(count, { one: 'plik', few: 'pliki', many: 'plików', other: 'pliku' });
  return {
    title: 'Prześlij pliki',
    what: 'Osoba, od której masz ten link, prosi Cię o pliki. Są szyfrowane na Twoim urządzeniu, tylko dla niej. Nie potrzebujesz konta.',
    takes: (count, size) => `Możesz jeszcze przesłać: ${files(count)} (${size}).`,
    until: (when) => `Otwarte do: ${when}.`,
    choose: 'Wybierz pliki',
    drop: 'Możesz też upuścić pliki lub foldery w dowolnym miejscu tej strony.',
    again:
      'Po zerwaniu połączenia przesyłanie zostanie wznowione automatycznie. Po odświeżeniu strony wybierz przerwane pliki ponownie: zostanie przesłana tylko reszta.',
    sent: (count, size) => `Przesłano: ${files(count)}, ${size}.`,
    gone: 'Teraz może je otworzyć tylko osoba, która o nie prosiła. Nie można ich tu zobaczyć, zmienić ani cofnąć, więc zachowaj własne kopie, dopóki są potrzebne.',
    trust: [
      'Link zawiera po znaku # sekret, którego przeglądarka nie wysyła do serwera. Serwer przechowuje przesłane pliki i nie może ich odczytać.',
      'Sama strona pochodzi z serwera, a wrogi serwer mógłby podać taką, która odczyta Twoje pliki. Lepszą ochronę daje wiersz poleceń: szafa put PLIK --to LINK',
    ],
  };
}

export const languages = { en, pl };
export const words = wordsIn(languages);
