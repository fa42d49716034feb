/** The Polish text of the page. One file, in the order of the English one. It must import no code of the page: see Tools. */
import type { Words } from './en.ts';
import type { Tools } from './language.ts';

export function pl({ number, plural, secret }: Tools): Words {
  const files = (count: number) =>
    plural(count, { one: 'plik', few: 'pliki', many: 'plików', other: 'pliku' });
  const folders = (count: number) =>
    plural(count, { one: 'folder', few: 'foldery', many: 'folderów', other: 'folderu' });
  const sessions = (count: number) =>
    plural(count, { one: 'sesję', few: 'sesje', many: 'sesji', other: 'sesji' });
  const uploads = (count: number) =>
    plural(count, { one: 'przesyłanie', few: 'przesyłania', many: 'przesyłań', other: 'przesyłania' });
  const downloads = (count: number) =>
    plural(count, { one: 'pobieranie', few: 'pobierania', many: 'pobierań', other: 'pobierania' });
  const characters = (count: number) =>
    plural(count, { one: 'znak', few: 'znaki', many: 'znaków', other: 'znaku' });
  const items = (count: number) =>
    plural(count, { one: 'element', few: 'elementy', many: 'elementów', other: 'elementu' });
  const links = (count: number) =>
    plural(count, { one: 'link', few: 'linki', many: 'linków', other: 'linku' });
  /** "3 z 12 plików": the genitive after "z" has only one plural form. */
  const share = (count: number, all: number) =>
    `${number(count)} z ${plural(all, { one: 'pliku', other: 'plików' })}`;
  const clearData =
    'usuń dane zapisane przez tę przeglądarkę dla tego adresu (w ustawieniach przeglądarki, w danych witryn).';
  const stop = 'W przeciwnym razie nie korzystaj z tego serwera, dopóki nie poznasz przyczyny.';

  return {
    name: 'szafa',
    tagline: 'Twoje pliki, zaszyfrowane, zanim opuszczą Twoje urządzenie.',

    enter: {
      signIn: 'Zaloguj się',
      register: 'Utwórz konto',
      username: 'Nazwa użytkownika',
      password: 'Hasło',
      repeat: 'Powtórz hasło',
      code: 'Kod',
      passkeyHint: 'To konto jest zabezpieczone dodatkowo kluczem dostępu.',
      confirmPasskey: 'Użyj klucza dostępu',
      passkeyAway:
        'Logowanie na to konto wymaga klucza dostępu, a pod tym adresem nie można ich używać. Skontaktuj się z administratorem.',
      byPasskey: 'Zaloguj się kluczem dostępu',
      codeHint: 'Uwierzytelnianie dwuskładnikowe jest włączone. Wpisz kod z aplikacji uwierzytelniającej.',
      invite: 'Zaproszenie',
      inviteRule: 'Aby założyć tu konto, potrzebujesz zaproszenia. Poproś o nie administratora.',
      disabled: 'To konto jest wyłączone. Skontaktuj się z administratorem.',
      closed: 'Rejestracja na tym serwerze jest wyłączona.',
      uninvited: 'To zaproszenie jest nieważne. Mogło wygasnąć lub zostało już wykorzystane.',
      usernameRule: 'od 3 do 32 liter (bez polskich znaków), cyfr lub podkreśleń',
      passwordRule: `Co najmniej ${characters(secret.min)}, trudne do odgadnięcia, np. kilka niepowiązanych słów.`,
      show: 'Pokaż hasło',
      hide: 'Ukryj hasło',
      withKey: 'Utwórz klucz odzyskiwania (zalecane)',
      withKeyHint:
        'Tylko on pozwoli odzyskać dostęp, jeśli zapomnisz hasła. Pokażemy go raz, na następnej stronie.',
      noReset:
        'Hasło nigdy nie opuszcza Twojego urządzenia i serwer nie może go zresetować. Bez hasła i bez klucza odzyskiwania nikt nie otworzy Twoich plików, nawet Ty.',
      understood: 'Moje hasło jest zapisane w bezpiecznym miejscu',
      toRegister: 'Nie masz konta? Utwórz je',
      toSignIn: 'Masz konto? Zaloguj się',
      toRecover: 'Nie pamiętasz hasła?',
      working: 'Logowanie…',
      wrong: 'Nieprawidłowa nazwa użytkownika lub hasło.',
      otherCase: (name) => `Wielkość liter w nazwie użytkownika ma znaczenie. Czy chodzi o ${name}?`,
      taken: 'Ta nazwa użytkownika jest już zajęta.',
      different: 'Hasła nie są takie same.',
      weak: {
        short: `Użyj co najmniej ${characters(secret.min)}.`,
        long: `Hasło może mieć najwyżej ${characters(secret.max)}.`,
        guessable:
          'To hasło zbyt łatwo odgadnąć. Użyj kilku niepowiązanych słów albo kilkunastu losowych znaków.',
      },
      points: [
        'Szyfrowanie na Twoim urządzeniu',
        'Nazwy plików też są zaszyfrowane',
        'Nikt inny nie ma klucza',
      ],
    },

    recover: {
      title: 'Ustaw nowe hasło',
      how: 'Potrzebujesz klucza odzyskiwania zapisanego przy zakładaniu konta lub później. Bez niego nikt nie otworzy Twoich plików.',
      key: 'Klucz odzyskiwania',
      keyHint: '14 grup po 4 znaki. Wielkość liter, odstępy i łączniki nie mają znaczenia.',
      next: 'Nowe hasło',
      after:
        'Nastąpi wylogowanie ze wszystkich urządzeń, uwierzytelnianie dwuskładnikowe zostanie wyłączone, a ten klucz zastąpi nowy klucz odzyskiwania.',
      do: 'Ustaw hasło i zaloguj się',
      wrong: 'Nieprawidłowa nazwa użytkownika lub klucz odzyskiwania.',
      changed:
        'Klucze tego konta zmieniono w tym samym czasie. Jeśli to Ty, zaloguj się hasłem ustawionym tam. Jeśli nie, spróbuj ponownie.',
      unsettled:
        'Serwer nie odpowiedział, więc nie wiadomo, czy nowe hasło jest ustawione. Spróbuj się nim zalogować. Jeśli się uda, utwórz nowy klucz odzyskiwania w ustawieniach konta. Jeśli nie, spróbuj tutaj ponownie.',
    },

    recoveryKey: {
      title: 'Twój klucz odzyskiwania',
      what: 'Otwiera konto, jeśli zapomnisz hasła. Widać go tylko teraz: zapisz go lub wydrukuj i przechowuj osobno od hasła. Każdy, kto go ma, może otworzyć Twoje pliki.',
      copy: 'Kopiuj',
      copied: 'Skopiowano. Wklej go zaraz w bezpieczne miejsce: inne programy mogą odczytać schowek.',
      notCopied: 'Przeglądarka nie pozwala na kopiowanie. Zaznacz klucz i skopiuj go ręcznie.',
      print: 'Drukuj',
      save: 'Zapisz jako tekst',
      saved: 'Klucz jest zapisany',
      skip: 'Pomiń na razie',
      ask: (first, second) => `Wpisz grupy ${first} i ${second}`,
      askWhy: 'W ten sposób sprawdzisz, czy klucz jest dobrze zapisany.',
      confirm: 'Potwierdź',
      again: 'Pokaż go ponownie',
      wrong: 'Te grupy się nie zgadzają. Sprawdź numery nad grupami.',
      confirmed: 'Klucz odzyskiwania potwierdzony',
      warning:
        'Jeśli zapomnisz hasła i nie będziesz mieć klucza odzyskiwania, utracisz wszystkie pliki. Nikt wtedy nie pomoże, nawet administrator. Dopóki pamiętasz hasło, możesz utworzyć inny klucz w ustawieniach konta.',
      back: 'Wróć do klucza',
    },

    account: {
      title: 'Konto',
      loading: 'Wczytywanie…',
      currentPassword: 'Obecne hasło',
      yourPassword: 'Twoje hasło',
      wrongPassword: 'Nieprawidłowe hasło.',
      password: {
        title: 'Hasło',
        do: 'Zmień hasło',
        next: 'Nowe hasło',
        after:
          'Pliki nie będą przesyłane ponownie. Nastąpi wylogowanie z pozostałych urządzeń, a wszystkie tokeny zostaną unieważnione.',
        limits:
          'Jeśli ktoś inny znał stare hasło, wymień też klucze w narzędziu wiersza poleceń: szafa rekey',
        done: 'Hasło zostało zmienione. Na pozostałych urządzeniach nastąpiło wylogowanie.',
        same: 'To jest Twoje obecne hasło.',
      },
      recovery: {
        title: 'Klucz odzyskiwania',
        has: 'Masz klucz odzyskiwania. Jeśli go nie znajdujesz, utwórz nowy.',
        none: 'Nie masz klucza odzyskiwania. Jeśli zapomnisz hasła, utracisz pliki.',
        do: 'Utwórz nowy klucz odzyskiwania',
        after: 'Zastąpi poprzedni klucz, gdy go potwierdzisz.',
      },
      factor: {
        title: 'Uwierzytelnianie dwuskładnikowe',
        on: 'Włączone. Logowanie wymaga kodu z aplikacji uwierzytelniającej.',
        none: 'Wyłączone',
        noneBeside: 'Logowanie wymaga klucza dostępu. Kody są wyłączone.',
        do: 'Włącz uwierzytelnianie dwuskładnikowe',
        how: 'Zeskanuj kod QR aplikacją uwierzytelniającą albo wpisz w niej sekret. Następnie wpisz kod, który się wyświetli.',
        picture: 'Kod QR z sekretem',
        secret: 'Sekret',
        after: 'Aplikacja będzie potrzebna przy każdym logowaniu.',
        withKey: 'Jeśli ją utracisz, dostęp odzyskasz tylko kluczem odzyskiwania. Nie ma kodów zapasowych.',
        withoutKey:
          'Jeśli ją utracisz, stracisz dostęp do konta: nie masz klucza odzyskiwania. Najpierw go utwórz.',
        finish: 'Włącz',
        done: 'Uwierzytelnianie dwuskładnikowe jest włączone.',
      },
      passkey: {
        title: 'Klucze dostępu',
        none: 'Loguj się telefonem, komputerem lub kluczem sprzętowym.',
        do: 'Dodaj klucz dostępu',
        after:
          'Logowanie hasłem będzie wymagać także drugiego składnika: wystarczy ten klucz. Wieloma kluczami można też zalogować się bez nazwy użytkownika i hasła.',
        withCodes: 'Narzędzie wiersza poleceń nie obsługuje kluczy dostępu. Używa kodów z aplikacji.',
        withoutCodes:
          'Narzędzie wiersza poleceń nie obsługuje kluczy dostępu. Jeśli z niego korzystasz, włącz też uwierzytelnianie kodem. Obecne sesje narzędzia pozostaną aktywne.',
        withoutKey:
          'Jeśli utracisz klucz dostępu, stracisz dostęp do konta: nie masz klucza odzyskiwania. Najpierw go utwórz.',
        name: 'Nazwa klucza dostępu',
        nameHint: 'Pozwoli rozpoznać go na liście, np. „Mój telefon”',
        finish: 'Dodaj',
        done: 'Klucz dostępu dodano jako drugi składnik. Do otwarcia plików nadal potrzebne jest hasło.',
        doneAlone: 'Dodano klucz dostępu. Możesz logować się samym kluczem.',
        alone: 'logowanie bez hasła',
        second: 'drugi składnik',
        used: (when) => `ostatnio użyty: ${when}`,
        never: 'jeszcze nieużyty',
        remove: 'Usuń',
        removeOf: (name) => `Usuń ${name}`,
        removed: 'Nie będzie można się nim logować, a inne sesje otwarte tym kluczem zakończą się.',
        gone: 'Klucz dostępu usunięto.',
      },
      factorOff: {
        do: 'Wyłącz uwierzytelnianie dwuskładnikowe',
        finish: 'Wyłącz',
        done: 'Uwierzytelnianie dwuskładnikowe jest wyłączone.',
        doneBeside: 'Kody są wyłączone. Logowanie nadal wymaga klucza dostępu.',
        byPasskey: 'Użyj klucza dostępu zamiast kodu',
      },
      sessions: {
        title: 'Sesje',
        unnamed: 'Bez nazwy',
        current: 'Ta przeglądarka',
        used: (when) => `ostatnio używana: ${when}`,
        usedNow: 'używana teraz',
        usedToday: 'ostatnio używana dzisiaj',
        scope: { full: '', read: 'tylko odczyt', append: 'tylko dodawanie' },
        folder: (name) => `tylko folder ${name}`,
        oneFolder: 'tylko jeden folder',
        expires: (when) => `wygasa: ${when}`,
        end: 'Wyloguj',
        endOf: (name) => `Wyloguj: ${name}`,
        endOthers: 'Wyloguj z pozostałych urządzeń',
        ended: (count) => `Zakończono ${sessions(count)}`,
      },
      remove: {
        title: 'Usunięcie konta',
        do: 'Usuń konto',
        lost: (fileCount, folderCount) => {
          const counts = [
            fileCount === undefined ? 'wszystkie Twoje pliki' : files(fileCount),
            folderCount > 0 && folders(folderCount),
          ];
          return `Zostaną usunięte: ${counts.filter(Boolean).join(', ')}, niedokończone przesyłania, Twoje klucze, wszystkie sesje i tokeny oraz konto. Nikt nie może tego cofnąć, nawet administrator.`;
        },
        name: (name) => `Wpisz „${name}”, aby potwierdzić`,
        otherName: 'To nie jest nazwa tego konta.',
      },
    },

    keys: {
      service: {
        title: 'Tożsamość tego serwera się zmieniła',
        why: 'Pod tym adresem odpowiada teraz inny serwer. Hasło nie zostało użyte i nic nie zostało otwarte.',
        next: [
          'Skontaktuj się z administratorem. Przeniesiony serwer zachowuje tożsamość; zainstalowany od nowa nie ma Twoich plików.',
          `Jeśli zainstalowano go od nowa i chcesz zacząć tam od początku, ${clearData}`,
          stop,
        ],
      },
      rollback: {
        title: 'Serwer przysłał starsze klucze niż wcześniej',
        why: 'Ta przeglądarka widziała nowsze klucze Twojego konta niż te, które serwer przysyła teraz. Nic nie zostało otwarte.',
        next: [
          'Skontaktuj się z administratorem. Serwer mógł zostać odtworzony z kopii sprzed ostatniej zmiany hasła lub klucza odzyskiwania.',
          `Jeśli tak, ${clearData} Następnie zaloguj się ówczesnym hasłem i zmień je ponownie.`,
          stop,
        ],
      },
      owner: {
        title: 'Serwer przysłał cudze klucze',
        why: 'Te klucze należą do innego konta lub innego serwera. Nic nie zostało otwarte.',
        next: [
          'Skontaktuj się z administratorem.',
          'Nie korzystaj z tego serwera, dopóki nie poznasz przyczyny.',
        ],
      },
      'no-bag': {
        title: 'Według serwera to konto nie ma kluczy',
        why: 'Konto miało klucze i tylko one otwierają Twoje pliki. Nie utworzono nowych i nic nie zostało otwarte.',
        next: [
          'Skontaktuj się z administratorem. Serwer mógł utracić bazę danych; klucze przywraca szafa-server rescue.',
          `Tylko jeśli konto usunięto i założono od nowa, ${clearData}`,
          stop,
        ],
      },
      damaged: {
        title: 'Klucze tego konta są uszkodzone',
        why: 'Klucze przysłane przez serwer są uszkodzone lub zostały zmienione. Nic nie zostało otwarte.',
        next: [
          'Skontaktuj się z administratorem: serwer może mieć ich kopię zapasową.',
          'Nie korzystaj z tego serwera, dopóki nie poznasz przyczyny.',
        ],
      },
    },

    insecure: {
      title: 'Ten adres nie jest bezpieczny',
      why: 'Przeglądarka pozwala na szyfrowanie tylko na stronach otwartych przez HTTPS lub z tego komputera. Tę stronę otwarto przez zwykłe HTTP, więc nie może szyfrować i nie pyta o hasło.',
      what: 'Co zrobić',
      steps: [
        'Otwórz ten sam adres z https://, jeśli serwer ma certyfikat.',
        'Jeśli prowadzisz serwer, ustaw SZ_TLS_CERT i SZ_TLS_KEY albo umieść go za serwerem pośredniczącym z TLS.',
        'Na komputerze, na którym działa serwer, użyj http://localhost.',
      ],
    },
    unsupported: {
      title: 'Ta przeglądarka jest za stara',
      why: 'szafa wymaga przeglądarki z tego lub poprzedniego roku: aktualnego Chrome, Edge, Firefoksa lub Safari.',
      what: 'Zaktualizuj przeglądarkę albo otwórz ten adres w innej.',
      lacks: (names) => `Brakuje: ${names.join(', ')}.`,
    },

    bar: {
      filter: 'Szukaj we wszystkich plikach',
      clearFilter: 'Wyczyść wyszukiwanie',
      account: 'Konto',
      settings: 'Ustawienia',
      signOut: 'Wyloguj się',
      menu: 'Foldery',
      about: 'O programie szafa',
    },

    settings: {
      title: 'Ustawienia',
      language: 'Język',
      ofBrowser: 'Domyślny przeglądarki',
      colours: 'Wygląd',
      ofSystem: 'Domyślny systemu',
      light: 'Jasny',
      dark: 'Ciemny',
      hint: 'Zapisane w tej przeglądarce.',
    },

    places: {
      title: 'Foldery',
      all: 'Wszystkie pliki',
      make: 'Nowy folder',
      makeName: 'Nazwa folderu',
      makeDo: 'Utwórz',
      unverifiedHint:
        'Utworzony przez inny program. Jego nazwa nie jest zaszyfrowana i mogła zostać zmieniona.',
    },

    quota: {
      label: 'Miejsce na dane',
      of: (used, all) => `${used} z ${all}`,
      over: 'Brak wolnego miejsca',
    },

    list: {
      label: 'Pliki',
      count: files,
      found: (what) => `Znaleziono: ${what}`,
      uploading: 'Pliki pojawią się tutaj po przesłaniu.',
      name: 'Nazwa',
      size: 'Rozmiar',
      date: 'Dodano',
      acts: 'Działania',
      select: (name) => `Zaznacz ${name}`,
      selectAll: 'Zaznacz wszystko',
      unverified: 'Jawna nazwa',
      unverifiedHint:
        'Przesłany przez inny program. Jego nazwa nie jest zaszyfrowana i mogła zostać zmieniona.',
      problem: 'Błąd weryfikacji',
      problemHint: 'Serwer zmienił lub pomylił ten wpis. Nie ufaj mu.',
      more: (name) => `Więcej działań: ${name}`,
      loading: 'Otwieranie plików…',
      emptyTitle: 'Nic tu jeszcze nie ma',
      emptyBody:
        'Upuść pliki lub foldery w dowolnym miejscu tej strony. Zostaną zaszyfrowane przed przesłaniem.',
      emptyDir: 'Ten folder jest pusty',
      noMatch: (filter) => `Brak wyników dla „${filter}”`,
      noMatchBody: 'Wyszukiwanie obejmuje nazwy wszystkich plików i folderów.',
      failedTitle: 'Nie udało się wczytać plików',
      retry: 'Spróbuj ponownie',
    },

    firstSteps: {
      title: 'Pierwsze kroki',
      upload: { title: 'Prześlij pliki', why: 'Możesz je też tutaj upuścić lub wkleić obraz.' },
      folder: { title: 'Utwórz folder', why: 'Uporządkuj pliki w folderach.' },
      recovery: {
        title: 'Sprawdź klucz odzyskiwania',
        why: 'Bez niego zapomniane hasło oznacza utratę plików.',
      },
      command: {
        title: 'Pobierz narzędzie wiersza poleceń',
        why: 'Do kopii zapasowych oraz wielu lub dużych plików.',
      },
    },

    actions: {
      upload: 'Prześlij pliki',
      uploadFolder: 'Prześlij folder',
      uploadShort: 'Prześlij',
      wait: 'Proszę czekać…',
      pasted: 'Wklejone',
      preview: 'Podgląd',
      download: 'Pobierz',
      move: 'Przenieś',
      copy: 'Utwórz kopię',
      remove: 'Usuń',
      selected: (count) => `Zaznaczono: ${number(count)}`,
      clear: 'Usuń zaznaczenie',
      cancel: 'Anuluj',
      close: 'Zamknij',
    },

    rename: {
      title: 'Zmień nazwę',
      label: 'Nowa nazwa',
      do: 'Zmień nazwę',
      doing: (count, all) => `Zmiana nazwy: ${share(count, all)}`,
      done: () => 'Zmieniono nazwę',
      failed: (why) => `Nie udało się zmienić nazwy. ${why}`,
      partly: (why) => `Nie wszystkie nazwy zmieniono. ${why}`,
      unsure: (why) => `Nie wiadomo, czy nazwa została zmieniona. ${why}`,
    },
    move: {
      title: (count) => (count === 1 ? 'Przenieś do' : `Przenieś ${items(count)} do`),
      do: 'Przenieś',
      doing: (count, all) => `Przenoszenie: ${share(count, all)}`,
      done: (count) => (count === 1 ? 'Przeniesiono' : `Przeniesiono ${items(count)}`),
      failed: (why) => `Niczego nie przeniesiono. ${why}`,
      partly: (why) => `Nie wszystko przeniesiono. ${why}`,
      unsure: (why) => `Nie wiadomo, czy wszystko przeniesiono. ${why}`,
    },
    copy: {
      title: (count) => (count === 1 ? 'Kopiuj do' : `Kopiuj ${items(count)} do`),
      do: 'Kopiuj',
      doing: (count, all) => `Kopiowanie: ${share(count, all)}`,
      done: (count) => (count === 1 ? 'Skopiowano' : `Skopiowano ${files(count)}`),
      failed: (why) => `Nie wszystko skopiowano. ${why}`,
    },
    trash: {
      title: 'Kosz',
      when: 'Usunięto',
      doing: (count, all) => `Usuwanie: ${share(count, all)}`,
      done: (count) => (count === 1 ? 'Przeniesiono do kosza' : `Przeniesiono do kosza ${items(count)}`),
      failed: (why) => `Nie wszystko przeniesiono do kosza. ${why}`,
      empty: 'Kosz jest pusty',
      emptyBody: 'Usunięte pliki są tu przez pewien czas przechowywane i można je przywrócić.',
      emptyNow: 'Opróżnij kosz',
      leaves: (when) => `Zostanie trwale usunięty: ${when}`,
      counts: 'Elementy w koszu nadal zajmują miejsce.',
    },
    restore: {
      do: 'Przywróć',
      doing: (count, all) => `Przywracanie: ${share(count, all)}`,
      done: (count) => (count === 1 ? 'Przywrócono' : `Przywrócono ${files(count)}`),
      failed: (why) => `Nie wszystko przywrócono. ${why}`,
    },
    remove: {
      do: 'Usuń trwale',
      title: (count) => (count === 1 ? 'Usunąć trwale ten plik?' : `Usunąć trwale ${files(count)}?`),
      body: 'Tego nie można cofnąć. Zaszyfrowane dane zostaną usunięte z serwera.',
      doing: (count, all) => `Usuwanie: ${share(count, all)}`,
      done: (count) => (count === 1 ? 'Usunięto trwale' : `Usunięto trwale ${files(count)}`),
      failed: (why) => `Nie wszystko usunięto. ${why}`,
    },
    versions: {
      title: 'Wersje',
      short: (count) => plural(count, { one: 'wersja', few: 'wersje', many: 'wersji', other: 'wersji' }),
      one: 'To jedyna wersja. Kolejna powstanie, gdy prześlesz tu plik o tej samej nazwie.',
      current: 'Bieżąca',
      restore: (when) => `Przywróć wersję z ${when}`,
      download: (when) => `Pobierz wersję z ${when}`,
      remove: (when) => `Usuń wersję z ${when}`,
      restored: 'Przywrócono wersję',
    },
    names: {
      empty: 'Wpisz nazwę.',
      slash: 'Nazwa nie może zawierać znaku /',
      dots: 'Ta nazwa jest niedozwolona.',
      folderTaken: 'Folder o tej nazwie już istnieje.',
      fileTaken: 'Plik o tej nazwie już istnieje.',
    },
    collision: {
      title: 'Plik już istnieje',
      file: (name, folder) => `W folderze ${folder} jest już plik ${name}.`,
      folder: (name, folder) => `W folderze ${folder} jest już folder ${name}.`,
      skip: 'Pomiń',
      replace: 'Zastąp',
      replaceHint: 'Zastąpiony plik pozostanie jako poprzednia wersja.',
      both: 'Zachowaj oba',
      forAll: (count) => `Zastosuj do pozostałych (${number(count)})`,
    },
    tree: {
      open: 'Otwórz',
      path: 'Ścieżka',
      gone: 'Ten plik już nie istnieje.',
      undo: 'Cofnij',
      here: 'Bieżący folder',
      intoItself: 'Nie można przenieść folderu do niego samego.',
      makeHere: 'Nowy folder tutaj',
      counts: (folderCount, fileCount) =>
        [folderCount > 0 && folders(folderCount), (fileCount > 0 || folderCount === 0) && files(fileCount)]
          .filter(Boolean)
          .join(', '),
    },

    leave: {
      title: 'Wylogować się teraz?',
      body: (uploadCount, downloadCount) => {
        const counts = [
          uploadCount > 0 && uploads(uploadCount),
          downloadCount > 0 && downloads(downloadCount),
        ];
        const stopped = `Zostanie anulowane: ${counts.filter(Boolean).join(' i ')}.`;
        if (uploadCount === 0) return stopped;
        return `${stopped} Wylogowanie usuwa wszystko, co zapisała ta przeglądarka, więc niedokończone przesyłania zaczną się następnym razem od początku.`;
      },
    },

    layouts: { title: 'Widok', list: 'Lista', grid: 'Siatka', timeline: 'Zdjęcia' },

    preview: {
      none: 'Podgląd jest niedostępny',
      cut: 'To tylko początek pliku. Pobierz go, aby zobaczyć całość.',
      opening: 'Otwieranie…',
      failed: 'Nie udało się wyświetlić podglądu.',
      empty: 'Ten plik jest pusty.',
      added: (when) => `dodano ${when}`,
      modified: (when) => `zmodyfikowano ${when}`,
      source: 'Pokaż źródło',
      larger: 'Powiększ',
      smaller: 'Pomniejsz',
      fit: 'Dopasuj',
      ahead: 'data dodania jest w przyszłości: sprawdź zegar',
      previous: 'Poprzedni plik',
      next: 'Następny plik',
    },

    transfers: {
      title: 'Transfery',
      total: 'Wszystkie transfery',
      finishedOf: share,
      showFinished: (count) => `Pokaż zakończone (${number(count)})`,
      hide: 'Ukryj transfery',
      show: 'Pokaż transfery',
      clear: 'Usuń zakończone',
      pauseAll: 'Wstrzymaj wszystkie',
      resumeAll: 'Wznów wszystkie',
      pause: (name) => `Wstrzymaj ${name}`,
      resume: (name) => `Wznów ${name}`,
      retry: (name) => `Ponów ${name}`,
      cancel: (name) => `Anuluj ${name}`,
      dismiss: (name) => `Usuń ${name} z listy`,
      choose: (name) => `Wybierz ponownie ${name}`,
      waiting: 'Oczekuje',
      stalled: 'Oczekuje na serwer',
      upload: 'Przesyłanie',
      download: 'Pobieranie',
      paused: 'Wstrzymano',
      doneUpload: 'Przesłano',
      doneDownload: 'Pobrano',
      interrupted: 'Przerwano: wybierz plik ponownie, aby wznowić',
      interruptedHandle: 'Przerwano',
      rate: (rate) => `${rate}/s`,
      left: (time) => `pozostało ${time}`,
      otherFile: 'To inny plik: nie zgadza się jego nazwa, rozmiar lub data.',
      linksLeft: (count) =>
        `Pominięto w pliku zip: ${plural(count, { one: 'dowiązanie symboliczne', few: 'dowiązania symboliczne', many: 'dowiązań symbolicznych', other: 'dowiązania symbolicznego' })} (cel może być poza folderem).`,
      noWorker: 'Ta przeglądarka nie może tu zapisywać plików. Przyczyną może być okno prywatne.',
    },

    share: {
      title: 'Udostępnianie',
      do: 'Udostępnij',
      what: 'Każdy, kto ma link, może pobrać te pliki w obecnej postaci, bez konta. Późniejsze zmiany nie są udostępniane.',
      expires: 'Wygasa',
      expiry: { 1: 'Za 1 dzień', 7: 'Za 7 dni', 30: 'Za 30 dni', 365: 'Za rok', never: 'Nigdy' },
      downloads: 'Limit pobrań',
      unlimited: 'Bez limitu',
      downloadsHint: 'Podglądy liczą się jako pobrania.',
      passphrase: 'Hasło linku (opcjonalnie)',
      passphraseHint: 'Przekaż je inną drogą niż link.',
      note: 'Wiadomość (opcjonalnie)',
      make: 'Utwórz link',
      making: 'Tworzenie linku…',
      made: 'Link utworzony',
      anyone: 'Każdy, kto ma ten link oraz hasło, jeśli je ustawiono, może pobrać pliki.',
      copy: 'Kopiuj link',
      copied: 'Skopiowano link.',
      notCopied: 'Przeglądarka nie pozwala na kopiowanie. Zaznacz link i skopiuj go ręcznie.',
      qrCode: 'Kod QR linku',
      later: 'Znajdziesz go później w sekcji „Udostępnione”, gdzie można też zakończyć udostępnianie.',
      off: 'Udostępnianie jest na tym serwerze wyłączone.',
      tooMuch: 'Osiągnięto limit udostępniania. Najpierw usuń niektóre linki.',
    },
    shared: {
      title: 'Udostępnione',
      count: links,
      empty: 'Nic jeszcze nie udostępniasz',
      emptyBody:
        'Zaznacz pliki lub folder i wybierz „Udostępnij”, aby udostępnić je linkiem lub użytkownikowi tego serwera.',
      unnamed: 'Bez nazwy',
      downloads: (count, all) =>
        all === null ? `pobrania: ${number(count)}` : `pobrania: ${number(count)} z ${number(all)}`,
      until: (when) => `wygasa: ${when}`,
      endless: 'bez daty wygaśnięcia',
      to: (name) => `dla: ${name}`,
      passphrase: 'z hasłem',
      missing: (count) => `usunięte lub w koszu, niedostępne: ${files(count)}`,
      over: { expired: 'wygasł', 'used up': 'limit wyczerpany', ended: 'zakończono' },
      copyOf: (name) => `Kopiuj link do: ${name}`,
      endOf: (name) => `Zakończ udostępnianie: ${name}`,
      endShareOf: (name, to) => `Zakończ udostępnianie: ${name}, dla: ${to}`,
      removeOf: (name) => `Usuń ${name} z listy`,
      end: 'Zakończ udostępnianie',
      endTitle: 'Zakończyć udostępnianie?',
      endShareTitle: (to) => `Zakończyć udostępnianie użytkownikowi ${to}?`,
      endBody: 'Link natychmiast przestanie działać. Pobrane już pliki pozostaną u osób, które je mają.',
      done: 'Link już nie działa.',
      shareDone: 'Zakończono udostępnianie.',
    },
    received: { title: 'Udostępnione mi' },
    visitor: {
      title: 'Udostępnione Tobie',
      opening: 'Otwieranie linku…',
      note: 'Wiadomość',
      missing: 'usunięty przez właściciela',
      downloadOf: (name) => `Pobierz ${name}`,
      downloadAll: 'Pobierz wszystko jako zip',
      more: (count) => `Pokaż kolejne (${number(count)})`,
      passphrase: 'Hasło linku',
      open: 'Otwórz',
    },
    link: {
      full: {
        title: 'Limit tego linku został wyczerpany',
        next: 'Osiągnięto limit ustawiony przez właściciela albo ten plik jest większy niż pozostałe miejsce. Skontaktuj się z osobą, która przysłała link.',
      },
      expired: {
        title: 'Ten link wygasł',
        next: 'Poproś o nowy osobę, która go przysłała.',
      },
      'used up': {
        title: 'Limit pobrań tego linku został wyczerpany',
        next: 'Poproś o nowy osobę, która go przysłała. Rozpoczęte pobieranie możesz dokończyć w karcie, w której się zaczęło.',
      },
      ended: {
        title: 'Ten link już nie działa',
        next: 'Właściciel zakończył udostępnianie lub usunął pliki. Skontaktuj się z osobą, która przysłała link.',
      },
      unknown: {
        title: 'Ten link nie istnieje',
        next: 'Mógł zostać usunięty dawno temu lub zmienić się po drodze. Skopiuj cały link ponownie z wiadomości, w której przyszedł, albo skontaktuj się z osobą, która go przysłała.',
      },
      incomplete: {
        title: 'Ten link jest niepełny',
        next: 'Link kończy się znakiem # i długim kluczem. Bez klucza nikt go nie użyje, nawet serwer. Skopiuj cały link ponownie z wiadomości, w której przyszedł.',
      },
      changed: {
        title: 'Ten link nie pasuje do plików',
        next: 'Link zmienił się po drodze albo serwer przysłał coś innego, niż udostępnił właściciel. Nic nie zostało otwarte. Skopiuj cały link ponownie z wiadomości, w której przyszedł. Jeśli to nie pomoże, powiadom osobę, która go przysłała.',
      },
    },

    drop: { title: 'Upuść, aby przesłać', into: (place) => `do: ${place}` },

    state: {
      offline: 'Jesteś offline. Przesyłanie zostanie wznowione po odzyskaniu połączenia.',
      unreachable: 'Serwer nie odpowiada.',
      back: 'Połączenie z serwerem wróciło.',
      expired:
        'Nastąpiło wylogowanie: sesja wygasła, zakończono ją na innym urządzeniu albo zmieniono hasło. Zaloguj się ponownie, a jeśli zmieniono hasło, użyj nowego.',
      otherPassword: 'Hasło tego konta zostało zmienione. Zaloguj się nowym.',
      deleted: (username) => `Konto ${username} zostało usunięte wraz z całą zawartością.`,
      elsewhere: 'Wylogowano w innej karcie.',
      noLine: 'Jesteś offline.',
      away: 'Twoje pliki są bezpieczne na serwerze. Pojawią się, gdy tylko uda się z nim połączyć.',
      trying: 'Ponawianie próby…',
      starting: 'Otwieranie…',
      leaving: 'Wylogowywanie…',
    },

    about: {
      title: 'O programie szafa',
      lines: [
        'Pliki są szyfrowane na Twoim urządzeniu i dzielone na części. Serwer przechowuje części i nie ma klucza.',
        'Nazwy plików i folderów też są zaszyfrowane. Serwer widzi rozmiary, daty, liczbę plików oraz to, które z nich są w tym samym folderze.',
        'Nazwa jest powiązana z zawartością, a ścieżka z nazwą: jeśli serwer zamieni dwa pliki lub przeniesie plik do innego folderu, będzie to widać.',
        'Bieżący folder jest częścią adresu po znaku #. Przeglądarka nikomu jej nie wysyła, ale zapisuje ją w historii.',
        'Klucze pozostają w tej przeglądarce do wylogowania, w postaci, której nie można wyeksportować. Gdyby serwer zmienił tę stronę, mogłaby ona nadal ich użyć.',
      ],
      command: 'Wiersz poleceń',
      commandHow: 'Na komputerze z Node 26:',
      commandDigest: 'SHA-256 tego pliku:',
      keys: 'Skróty klawiszowe',
      shortcuts: [
        ['↑ ↓', 'Poruszanie się po liście'],
        ['Enter', 'Otwórz'],
        ['Backspace', 'Przejdź do folderu nadrzędnego'],
        ['Spacja', 'Zaznacz'],
        ['Shift ↑ ↓', 'Rozszerz zaznaczenie'],
        ['Ctrl A', 'Zaznacz wszystko'],
        ['F2', 'Zmień nazwę'],
        ['Shift F10', 'Menu kontekstowe'],
        ['Delete', 'Przenieś do kosza'],
        ['/', 'Szukaj'],
        ['U', 'Prześlij'],
        ['← →', 'W podglądzie: poprzedni i następny plik'],
        ['+ − 0', 'W podglądzie: powiększ, pomniejsz, dopasuj'],
        ['Esc', 'Usuń zaznaczenie, zamknij'],
        ['?', 'Ta lista'],
      ],
      docs: 'Dokumentacja API',
    },

    status: {
      400: 'Serwer tego nie przyjął.',
      401: 'Sesja została zakończona. Zaloguj się ponownie.',
      403: 'Serwer na to nie pozwala.',
      404: 'To już nie istnieje.',
      413: 'Plik ma zbyt wiele części.',
      429: 'Zbyt wiele prób. Odczekaj minutę i spróbuj ponownie.',
      500: 'Wystąpił błąd serwera. Spróbuj ponownie.',
      503: 'Serwer jest zajęty. Spróbuj ponownie.',
      507: 'Za mało wolnego miejsca.',
    },
    codes: {
      network: 'Nie można połączyć się z serwerem.',
      'not-the-service': 'Serwer pod tym adresem to nie szafa.',
      'wrong-password':
        'To hasło nie otwiera plików tego konta. Jeśli mają osobne hasło, użyj narzędzia wiersza poleceń.',
      'wrong-passkey':
        'Klucz dostępu nie został przyjęty. Mógł zostać usunięty albo odpowiedź przyszła za późno. Spróbuj ponownie.',
      'no-passkey': 'Nie użyto klucza dostępu: anulowano, minął czas albo nie ma klucza dla tej strony.',
      'passkey-known': 'To urządzenie ma już klucz dostępu do tego konta.',
      'passkey-second':
        'Ten klucz dostępu sam nie otworzy plików. Zaloguj się hasłem i użyj go jako drugiego składnika.',
      'wrong-code':
        'Kod jest nieprawidłowy lub został już użyty. Poczekaj na następny. Jeśli żaden nie działa, sprawdź zegar urządzenia z aplikacją.',
      'wrong-passphrase': 'Nieprawidłowe hasło linku. Wielkość liter i spacje mają znaczenie.',
      locked: 'Nastąpiło wylogowanie.',
      gone: 'To już nie istnieje.',
      conflict: 'Inne urządzenie lub karta zmieniły to w tym samym czasie. Sprawdź i spróbuj ponownie.',
      tampered: 'To zostało zmienione po przesłaniu, więc nie zostało otwarte.',
      'keys-changed':
        'Inne urządzenie lub karta zmieniły klucze tego konta w tym samym czasie. Zachowano tamtą zmianę, a nie tę.',
      unsettled:
        'Serwer nie odpowiedział, więc nie wiadomo, czy to wykonał. Możesz bezpiecznie spróbować ponownie.',
      'too-many': 'Za dużo plików na jeden link.',
      unsupported: 'To utworzył inny program lub nowsza wersja. Otwórz to tam.',
      'file-changed': 'Plik zmienił się podczas przesyłania.',
      'too-long': 'Serwer przysłał więcej danych, niż oczekiwano.',
      stopped: 'Zatrzymano.',
      refused: 'Przeglądarka odrzuciła lub anulowała to pobieranie.',
      'old-tab': 'W innej karcie jest otwarta starsza wersja tej strony. Zamknij ją i spróbuj ponownie.',
      'part-missing': 'Nie udało się wczytać części strony. Spróbuj ponownie albo odśwież stronę.',
    },
    rule(message) {
      const [, words] = RULES.find(([pattern]) => pattern.test(message)) ?? [];
      return words ?? `serwer na to nie pozwala: ${message}`;
    },
    refused: (message) => `Serwer odmówił: ${message}`,
  };
}

const RULES: [RegExp, string][] = [
  [/^username/, 'nazwa użytkownika ma od 3 do 32 liter (bez polskich znaków), cyfr lub podkreśleń'],
  [/empty/, 'nazwa jest pusta'],
  [/contain/, 'nazwa zawiera niedozwolone znaki'],
  [/too long|more than/, 'nazwa jest za długa'],
];
