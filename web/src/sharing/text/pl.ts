/** Polish text for sharing and file requests, in the same order as the English one. */
import type { Tools } from '../../core/text/language.ts';
import type { SharingWords } from './en.ts';

export function pl({ number, plural }: Tools): SharingWords {
  const files = (count: number) =>
    plural(count, { one: 'plik', few: 'pliki', many: 'plików', other: 'pliku' });
  return {
    linkTrust:
      'Klucz to część po znaku #, której przeglądarki nie wysyłają do serwera. Strona otwierana linkiem pochodzi jednak z serwera, a wrogi serwer mógłby podać stronę, która wykradnie klucz. Lepszą ochronę daje wiersz poleceń: szafa get LINK',
    links: 'Udostępnione linki',
    received: {
      list: 'Udostępnione Tobie',
      empty: 'Nikt jeszcze nic Ci nie udostępnił',
      emptyBody:
        'Inni użytkownicy tego serwera mogą udostępniać Ci pliki, podając Twoją nazwę. Pojawią się tutaj.',
      from: (name) => `od: ${name}`,
      unnamed: 'Bez nazwy',
      left: (count) => (count === 0 ? 'limit pobrań wyczerpany' : `pozostało pobrań: ${number(count)}`),
      missing: (count) => `usunięte przez właściciela: ${files(count)}`,
      verified: 'Zweryfikowano',
      notVerified: 'Niezweryfikowane',
      notTrusted: 'Nie otwarto',
      show: (name) => `Pokaż pliki: ${name}`,
      hide: (name) => `Ukryj pliki: ${name}`,
      note: 'Wiadomość',
      changed: (name) =>
        `Klucze użytkownika ${name} się zmieniły: konto założono na nowo albo ktoś, być może serwer, podszywa się pod ${name}. Nie otwarto tego udostępnienia.`,
      changedNext: 'Sprawdź klucze',
      broken: (name) =>
        `Brakuje podpisu użytkownika ${name} albo coś zmieniono po drodze, więc nic nie otwarto. Poproś o ponowne udostępnienie.`,
      unsupported: 'To utworzyła nowsza wersja, więc nic nie otwarto. Odśwież stronę albo otwórz to tam.',
      over: {
        expired: 'To udostępnienie wygasło. Poproś właściciela o ponowne udostępnienie.',
        'used up': 'Limit pobrań został wyczerpany. Poproś właściciela o ponowne udostępnienie.',
        ended: 'Właściciel zakończył udostępnianie lub usunął pliki.',
        unknown: 'To nie jest Ci już udostępniane: właściciel zakończył udostępnianie lub usunął pliki.',
      },
      removeOf: (name) => `Usuń: ${name}`,
      remove: 'Usuń',
      removeTitle: 'Usunąć to udostępnienie?',
      removeBody:
        'Zniknie na stałe z Twojej listy i właściciel to zobaczy. Pobrane pliki pozostaną u Ciebie.',
    },
    contacts: {
      title: 'Kontakty i odciski kluczy',
      show: 'Pokaż odciski kluczy',
      own: 'Twój odcisk klucza',
      ownHint: 'Odczytaj go swoim kontaktom, aby mogły go porównać z tym, który widzą u siebie.',
      others: 'Twoje kontakty',
      none: 'Nie masz jeszcze kontaktów.',
      why: 'Serwer mógłby podmienić czyjeś klucze na własne i czytać to, co udostępniasz tej osobie. Jeśli oboje widzicie te same odciski, tak się nie stało. Porównajcie je osobiście lub przez telefon, a nie przez ten serwer.',
      remembered:
        'Ta przeglądarka pamięta klucze każdego widzianego konta, także po wylogowaniu, i bez Twojej zgody nie używa innych.',
      verified: 'Zweryfikowano',
      notVerified: 'Niezweryfikowane',
      changed: 'Klucze się zmieniły',
      verify: 'Oznacz jako zweryfikowane',
      verifyOf: (name) => `Oznacz jako zweryfikowane: ${name}`,
      nowVerified: (name) => `Zweryfikowano: ${name}.`,
      acceptOf: (name) => `Zaakceptuj nowe klucze użytkownika ${name}`,
      acceptWhy: (name) =>
        `Klucze użytkownika ${name} się zmieniły: konto założono na nowo albo ktoś, być może serwer, podszywa się pod ${name}. Z nowymi kluczami nic nie jest udostępniane ani otwierane.`,
      acceptHow: (name) =>
        `Poproś użytkownika ${name}, osobiście lub przez telefon, o odczytanie odcisku klucza i wpisz go tutaj. Zostanie porównany z nowymi kluczami, których nie pokazujemy.`,
      typed: (name) => `Odcisk odczytany przez: ${name}`,
      typedHint: '60 cyfr. Odstępy nie mają znaczenia.',
      accept: 'Zaakceptuj te klucze',
      accepted: (name) => `Zaakceptowano nowe klucze użytkownika ${name}.`,
      name: 'Nazwa użytkownika',
      find: 'Znajdź kontakt',
    },
    give: {
      to: 'Udostępnij',
      ways: { link: 'Każdemu, kto ma link', account: 'Użytkownikowi tego serwera' },
      what: 'Tylko ten użytkownik może pobrać pliki, w obecnej postaci. Późniejsze zmiany nie są udostępniane.',
      name: 'Nazwa użytkownika',
      nameHint:
        'Za pierwszym razem klucze tego użytkownika podaje serwer. Ta przeglądarka je zapamięta i nie użyje innych.',
      do: 'Udostępnij',
      doing: 'Udostępnianie…',
      made: (name) => `Udostępniono: ${name}`,
      done: (name) => `${name} znajdzie to w sekcji „Udostępnione mi” albo w wierszu poleceń: szafa shared`,
      later: 'Znajdziesz to później w sekcji „Udostępnione”, gdzie można też zakończyć udostępnianie.',
      first: (name) =>
        `Klucze użytkownika ${name} podał serwer, a ta przeglądarka je zapamiętała. Aby upewnić się, że są prawdziwe, porównaj ten odcisk z tym, który ${name} widzi jako własny:`,
      verified: (name) => `Klucze użytkownika ${name} są zweryfikowane.`,
      changed: (name) =>
        `Nic nie udostępniono: klucze użytkownika ${name} się zmieniły. Konto założono na nowo albo ktoś, być może serwer, podszywa się pod ${name}.`,
      changedNext: 'Sprawdź klucze',
    },
    requests: {
      title: 'Prośby o pliki',
      do: 'Poproś o pliki',
      what: 'Każdy, kto ma link, może przesłać Ci pliki, bez konta. Są szyfrowane dla Ciebie na urządzeniu nadawcy i czekają w sekcji „Udostępnione”, aż je zapiszesz.',
      folder: 'Folder docelowy',
      choose: 'Wybierz ten folder',
      mostFiles: 'Maksymalna liczba plików',
      mostBytes: 'Maksymalny łączny rozmiar (GB)',
      made: 'Link do prośby utworzony',
      anyone: 'Każdy, kto ma ten link, może przesłać Ci pliki, ale nie widzi plików innych osób.',
      trust:
        'Strona otwierana linkiem pochodzi z serwera, a wrogi serwer mógłby podać stronę, która odczyta pliki przed zaszyfrowaniem. Lepszą ochronę daje wiersz poleceń: szafa put PLIK --to LINK',
      tooMany: 'Osiągnięto limit próśb o pliki. Najpierw usuń niektóre z nich.',
      received: (count, all) => `otrzymano ${number(count)} z ${number(all)}`,
      uploading: (count) => `w trakcie przesyłania: ${number(count)}`,
      over: { expired: 'wygasła', 'used up': 'pełna', ended: 'zamknięta' },
      copyOf: (name) => `Kopiuj link dla: ${name}`,
      endOf: (name) => `Zamknij prośbę dla: ${name}`,
      end: 'Zamknij prośbę',
      endTitle: 'Zamknąć tę prośbę?',
      endBody: 'Link natychmiast przestanie działać. Otrzymane pliki pozostaną.',
      done: 'Prośba została zamknięta.',
      deliveries: 'Otrzymane',
      deliveriesHint:
        'Te pliki pochodzą od innych osób, więc otwieraj je ostrożnie. Nazwy i daty wybrali nadawcy. Pliki zajmują Twoje miejsce, a w folderach pojawią się po zapisaniu.',
      into: (folder) => `dla: ${folder}`,
      save: 'Zapisz w moich plikach',
      saveOf: (name) => `Zapisz w moich plikach: ${name}`,
      saveAll: (count) => (count === 1 ? 'Zapisz w moich plikach' : `Zapisz wszystkie (${number(count)})`),
      saved: (count) => `Zapisano ${files(count)}.`,
      delete: 'Usuń trwale',
      deleteOf: (name) => `Usuń ${name}`,
      deleteTitle: 'Usunąć trwale ten plik?',
      deleteBody: 'Tego nie można cofnąć. Plik nie trafi do kosza.',
      deleted: 'Usunięto.',
    },
    codes: {
      'no-contact':
        'Nie ma użytkownika o tej nazwie. Wielkość liter ma znaczenie, a użytkownik musi zalogować się co najmniej raz.',
      'no-such-keys':
        'Ta przeglądarka nie obsługuje kluczy potrzebnych do udostępniania. Użyj nowszej albo wiersza poleceń: szafa shared',
      'own-account': 'To Twoja nazwa. Wpisz nazwę innej osoby.',
      'contact-changed': 'Klucze się zmieniły.',
      'not-seen': 'Tych kluczy jeszcze tu nie pokazano. Najpierw je zobacz, potem porównaj.',
      fingerprint: 'Odcisk ma 60 cyfr.',
      'other-fingerprint':
        'To nie pasuje do kluczy podanych przez serwer. Nie udostępniaj nic temu użytkownikowi, dopóki nie poznasz przyczyny: ktoś, być może serwer, może się pod niego podszywać.',
    },
    tooOften: 'Zbyt wiele zapytań. Spróbuj ponownie za minutę.',
  };
}
