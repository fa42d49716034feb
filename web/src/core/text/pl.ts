/** Polish. It has the shape of English, and imports nothing: see Tools. One file, as that is: the two are read beside each other. */
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
    plural(count, { one: 'wysyłanie', few: 'wysyłania', many: 'wysyłań', other: 'wysyłania' });
  const downloads = (count: number) =>
    plural(count, { one: 'pobieranie', few: 'pobierania', many: 'pobierań', other: 'pobierania' });
  const characters = (count: number) =>
    plural(count, { one: 'znak', few: 'znaki', many: 'znaków', other: 'znaku' });
  const items = (count: number) =>
    plural(count, { one: 'element', few: 'elementy', many: 'elementów', other: 'elementu' });
  const links = (count: number) =>
    plural(count, { one: 'link', few: 'linki', many: 'linków', other: 'linku' });
  /** "3 z 12 plików": after "z" there is only one plural. */
  const share = (count: number, all: number) =>
    `${number(count)} z ${plural(all, { one: 'pliku', other: 'plików' })}`;
  const startAnew =
    'usuń to, co ta przeglądarka zapisała dla tego adresu; jest to w jej ustawieniach, wśród danych witryn.';
  const stop = 'W przeciwnym razie nie używaj tego serwera, dopóki nie wiesz, skąd ta zmiana.';

  return {
    name: 'szafa',
    tagline: 'Twoje pliki, zamknięte, zanim opuszczą tę stronę.',

    enter: {
      signIn: 'Zaloguj się',
      register: 'Utwórz konto',
      username: 'Nazwa użytkownika',
      password: 'Hasło',
      repeat: 'Powtórz hasło',
      code: 'Kod',
      passkeyHint: 'Drugim składnikiem logowania tego konta jest klucz dostępu.',
      confirmPasskey: 'Użyj klucza dostępu',
      passkeyAway:
        'Drugim składnikiem logowania tego konta jest klucz dostępu, a pod tym adresem nie można ich używać. Zapytaj osobę, która prowadzi ten serwer.',
      byPasskey: 'Zaloguj się kluczem dostępu',
      codeHint: 'To konto ma drugi składnik logowania: wpisz kod z aplikacji uwierzytelniającej.',
      invite: 'Zaproszenie',
      inviteRule: 'Nowe konto wymaga tu zaproszenia. Może je dać osoba, która prowadzi ten serwer.',
      disabled: 'To konto jest wyłączone. Zapytaj osobę, która prowadzi ten serwer.',
      closed: 'Ten serwer nie przyjmuje nowych kont.',
      uninvited: 'To zaproszenie jest nieważne: mogło zostać już użyte albo wygasło.',
      usernameRule: 'od 3 do 32 liter (bez polskich znaków), cyfr lub podkreśleń',
      passwordRule: `Co najmniej ${characters(secret.min)}, trudne do odgadnięcia. Dobre jest kilka niepowiązanych słów.`,
      show: 'Pokaż hasło',
      hide: 'Ukryj hasło',
      withKey: 'Utwórz klucz odzyskiwania',
      withKeyHint:
        'To jedyna droga powrotu po utracie hasła: nikt nie może go zresetować. Zobaczysz go raz, na następnej stronie.',
      noReset:
        'Hasło nigdy nie opuszcza tej strony, a serwer nie może go zresetować. Bez hasła i bez klucza odzyskiwania nikt nie otworzy Twoich plików, nawet Ty.',
      understood: 'Moje hasło jest zapisane w bezpiecznym miejscu',
      toRegister: 'Nie masz konta? Utwórz je',
      toSignIn: 'Masz konto? Zaloguj się',
      toRecover: 'Nie pamiętasz hasła?',
      working: 'Odblokowywanie…',
      wrong: 'Błędna nazwa użytkownika lub błędne hasło.',
      otherLetters: (name: string) => `W nazwach liczą się wielkie i małe litery: czy chodzi o ${name}?`,
      taken: 'Ta nazwa użytkownika jest już zajęta.',
      different: 'Hasła nie są takie same.',
      weak: {
        short: `Użyj co najmniej ${characters(secret.min)}.`,
        long: `Najdłuższe hasło ma ${characters(secret.max)}.`,
        guessable:
          'To hasło zbyt łatwo odgadnąć. Użyj kilku niepowiązanych słów albo kilkunastu losowych znaków.',
      },
      points: ['Szyfrowanie na tej stronie', 'Nazwy plików też są zaszyfrowane', 'Nikt inny nie ma klucza'],
    },

    recover: {
      title: 'Ustaw nowe hasło',
      how: 'Kluczem odzyskiwania, zapisanym przy zakładaniu konta albo później. Bez niego nikt nie otworzy Twoich plików.',
      key: 'Klucz odzyskiwania',
      keyHint: '14 grup po 4 znaki. Małe litery, odstępy i brak łączników nie przeszkadzają.',
      next: 'Nowe hasło',
      after:
        'Wszystkie sesje i tokeny konta się skończą, drugi składnik logowania zostanie wyłączony, a ten klucz zastąpi nowy klucz odzyskiwania.',
      do: 'Ustaw hasło i zaloguj się',
      wrong: 'Nazwa użytkownika albo klucz odzyskiwania są błędne.',
      changed:
        'Ktoś w tej samej chwili zmienił klucze tego konta. Jeśli to Ty, zaloguj się tym, co tam ustawiono; jeśli nie, spróbuj ponownie.',
      unsettled:
        'Serwer nie odpowiedział, więc nie wiadomo, czy nowe hasło obowiązuje. Spróbuj się nim zalogować; jeśli zadziała, utwórz w ustawieniach konta nowy klucz odzyskiwania. Jeśli nie, powtórz to tutaj.',
    },

    recoveryKey: {
      title: 'Twój klucz odzyskiwania',
      what: 'Otwiera konto, gdy utracisz hasło. Widać go tylko teraz: zapisz go lub wydrukuj i trzymaj osobno od hasła. Kto go ma, może otworzyć Twoje pliki.',
      copy: 'Kopiuj',
      copied: 'Skopiowano. Wklej go zaraz w bezpieczne miejsce: inne programy mogą odczytać schowek.',
      notCopied: 'Przeglądarka na to nie pozwala. Zaznacz klucz i skopiuj go ręcznie.',
      print: 'Drukuj',
      save: 'Zapisz jako tekst',
      written: 'Klucz jest zapisany',
      skip: 'Kontynuuj bez niego',
      ask: (first: number, second: number) => `Wpisz grupy ${first} i ${second}`,
      askWhy: 'Dla pewności, że masz ten klucz.',
      confirm: 'Potwierdź',
      again: 'Pokaż go ponownie',
      wrong: 'Było tam coś innego. Grupy liczy się od lewej.',
      confirmed: 'Dobrze: masz swój klucz odzyskiwania.',
      warning:
        'Bez klucza odzyskiwania pod ręką zapomniane hasło oznacza utratę wszystkich plików. Nikt wtedy nie pomoże, nawet osoba, która prowadzi serwer. Dopóki pamiętasz hasło, możesz później utworzyć inny klucz w ustawieniach konta.',
      back: 'Wróć do klucza',
    },

    account: {
      title: 'Konto i urządzenia',
      loading: 'Pytanie do serwera…',
      currentPassword: 'Obecne hasło',
      yourPassword: 'Twoje hasło',
      wrongPassword: 'Hasło jest błędne.',
      password: {
        title: 'Hasło',
        do: 'Zmień hasło',
        next: 'Nowe hasło',
        after:
          'Nic nie jest wysyłane ponownie. Wszystkie inne sesje i tokeny tego konta się skończą; na innych urządzeniach trzeba zalogować się nowym hasłem.',
        limits:
          'Jeśli ktoś inny znał stare hasło, utwórz też nowe klucze: szafa rekey w wierszu poleceń. Strona tego nie potrafi.',
        done: 'Hasło zostało zmienione. Wszystkie inne sesje się skończyły.',
        same: 'To jest hasło, które już masz.',
      },
      recovery: {
        title: 'Klucz odzyskiwania',
        has: 'Klucz odzyskiwania istnieje. Jeśli nie masz pewności, że wciąż go masz, utwórz nowy.',
        none: 'Nie ma klucza odzyskiwania: zapomniane hasło oznacza utratę wszystkich plików.',
        do: 'Utwórz nowy klucz odzyskiwania',
        after: 'Obowiązuje, gdy go potwierdzisz. Poprzedni klucz odzyskiwania niczego już wtedy nie otworzy.',
      },
      factor: {
        title: 'Drugi składnik logowania',
        on: 'Każde logowanie wymaga kodu z aplikacji uwierzytelniającej.',
        none: 'Logowanie wymaga tylko hasła.',
        noneBeside: 'Obok hasła logowanie wymaga klucza dostępu i nie przyjmuje kodu.',
        do: 'Wymagaj też kodu',
        how: 'Zeskanuj to aplikacją uwierzytelniającą albo wpisz do niej sekret. Potem wpisz kod, który pokaże.',
        picture: 'Kod QR z sekretem',
        secret: 'Sekret',
        after: 'Od teraz aplikacja jest potrzebna przy każdym logowaniu.',
        withKey: 'Gdy ją utracisz, pomoże tylko klucz odzyskiwania; nie ma kodów zapasowych.',
        withoutKey:
          'Gdy ją utracisz, nie wejdziesz na konto: nie ma ono klucza odzyskiwania. Najpierw go utwórz.',
        finish: 'Włącz',
        done: 'Od teraz logowanie wymaga kodu.',
      },
      passkey: {
        title: 'Klucze dostępu',
        none: 'Klucz dostępu jest w telefonie, w komputerze albo w kluczu sprzętowym.',
        do: 'Dodaj klucz dostępu',
        after:
          'Od tej chwili logowanie hasłem będzie wymagać także drugiego składnika: wystarczy ten klucz. Wiele kluczy loguje też samodzielnie, bez nazwy i hasła.',
        withCodes: 'Polecenie szafa nie używa kluczy dostępu: tam nadal działają kody z aplikacji.',
        withoutCodes:
          'Polecenie szafa nie używa kluczy dostępu: zaloguje się ponownie tylko kodem, więc jeśli go używasz, włącz też kody. Tam, gdzie jest teraz zalogowane, tak pozostanie.',
        withoutKey: 'Bez tego klucza nie wejdziesz: to konto nie ma klucza odzyskiwania. Najpierw go utwórz.',
        name: 'Nazwa klucza dostępu',
        nameHint: 'Pod nią znajdziesz go na tej liście: mój telefon, niebieski klucz',
        finish: 'Dodaj',
        done: 'Klucz dostępu dodano jako drugi składnik. Sam nie otworzy plików.',
        doneAlone: 'Klucz dostępu dodano. Loguje samodzielnie i otwiera pliki.',
        alone: 'loguje samodzielnie',
        second: 'obok hasła',
        used: (when: string) => `ostatnio użyty ${when}`,
        never: 'jeszcze nieużyty',
        remove: 'Usuń',
        removeOf: (name: string) => `Usuń ${name}`,
        removed: 'Nie będzie już logować, a inne sesje, które nim otwarto, zakończą się.',
        gone: 'Klucz dostępu usunięto.',
      },
      factorOff: {
        do: 'Nie wymagaj już kodu',
        finish: 'Wyłącz',
        done: 'Od teraz logowanie wymaga tylko hasła.',
        doneBeside: 'Od teraz logowanie nie przyjmuje kodu. Nadal wymaga klucza dostępu.',
        byPasskey: 'Użyj klucza dostępu zamiast kodu',
      },
      devices: {
        title: 'Urządzenia i tokeny',
        unnamed: 'Bez nazwy',
        current: 'Ta przeglądarka',
        used: (when: string) => `ostatnio w użyciu: ${when}`,
        usedNow: 'w użyciu teraz',
        usedToday: 'ostatnio w użyciu dzisiaj',
        scope: { full: '', read: 'tylko odczyt', append: 'tylko dodawanie' },
        folder: (name: string) => `tylko folder ${name}`,
        oneFolder: 'tylko jeden folder',
        ends: (when: string) => `wygasa: ${when}`,
        end: 'Zakończ',
        endOf: (name: string) => `Zakończ ${name}`,
        endOthers: 'Zakończ wszystkie inne',
        ended: (count: number) => `Zakończono ${sessions(count)}`,
      },
      remove: {
        title: 'Usunięcie konta',
        do: 'Usuń konto',
        lost: (fileCount: number | undefined, folderCount: number) => {
          const counts = [
            fileCount === undefined ? 'wszystkie Twoje pliki' : files(fileCount),
            folderCount > 0 && folders(folderCount),
          ];
          return `Zostaną usunięte: ${counts.filter(Boolean).join(', ')}, niedokończone wysyłania, Twoje klucze, wszystkie sesje i tokeny oraz samo konto. Nikt nie przywróci niczego z tego, nawet osoba, która prowadzi serwer.`;
        },
        name: (name: string) => `Wpisz nazwę konta, ${name}`,
        otherName: 'To nie jest nazwa tego konta.',
      },
    },

    keys: {
      service: {
        title: 'To nie jest ten sam serwer co wcześniej',
        why: 'Serwer pod tym adresem podaje się za inny niż podczas ostatniej wizyty. Dlatego hasło nie zostało użyte i nic nie zostało otwarte.',
        next: [
          'Zapytaj osobę, która go prowadzi. Serwer przeniesiony pozostaje tym samym serwerem; postawiony od nowa nie ma Twoich plików.',
          `Jeśli postawiono go od nowa i chcesz tam zacząć jeszcze raz: ${startAnew}`,
          stop,
        ],
      },
      rollback: {
        title: 'Serwer pokazuje starsze klucze niż wcześniej',
        why: 'Ta przeglądarka zna nowsze klucze Twojego konta niż te, które serwer daje teraz. Dlatego nic nie zostało otwarte.',
        next: [
          'Zapytaj osobę, która go prowadzi: mógł zostać odtworzony z kopii sprzed ostatniej zmiany hasła lub klucza odzyskiwania.',
          `Jeśli tak, ${startAnew} Potem zaloguj się ówczesnym hasłem i zmień je ponownie.`,
          stop,
        ],
      },
      owner: {
        title: 'Serwer pokazuje czyjeś inne klucze',
        why: 'Klucze, które dał, należą do innego konta albo innego serwera. Dlatego nic nie zostało otwarte.',
        next: [
          'Zapytaj osobę, która go prowadzi.',
          'Nie używaj tego serwera, dopóki nie wiesz, co się stało.',
        ],
      },
      'no-bag': {
        title: 'Serwer twierdzi, że to konto nie ma kluczy',
        why: 'Miało klucze i tylko one otwierają Twoje pliki. Dlatego nie utworzono nowych i nic nie zostało otwarte.',
        next: [
          'Zapytaj osobę, która go prowadzi: serwer mógł stracić bazę danych, a szafa-server rescue przywraca klucze.',
          `Tylko jeśli konto usunięto i założono od nowa: ${startAnew}`,
          stop,
        ],
      },
      damaged: {
        title: 'Klucze tego konta są uszkodzone',
        why: 'Klucze, które dał serwer, są uszkodzone albo zostały zmienione. Dlatego nic nie zostało otwarte.',
        next: [
          'Zapytaj osobę, która go prowadzi: serwer może je mieć w kopii zapasowej.',
          'Nie używaj tego serwera, dopóki nie wiesz, co się stało.',
        ],
      },
    },

    insecure: {
      title: 'Ten adres nie jest bezpieczny',
      why: 'Przeglądarka pozwala na szyfrowanie tylko stronom, które przychodzą przez HTTPS albo z tego komputera. Ta strona przyszła przez zwykłe HTTP, więc nie może szyfrować i nie pyta o hasło.',
      what: 'Co zrobić',
      steps: [
        'Otwórz ten sam adres z https://, jeśli serwer ma certyfikat.',
        'Jeśli prowadzisz serwer: ustaw SZ_TLS_CERT i SZ_TLS_KEY albo umieść go za serwerem pośredniczącym z TLS.',
        'Na tym samym komputerze działa http://localhost.',
      ],
    },
    unsupported: {
      title: 'Ta przeglądarka jest za stara',
      why: 'szafa wymaga przeglądarki z tego lub poprzedniego roku: aktualnego Chrome, Edge, Firefoksa lub Safari.',
      what: 'Zaktualizuj tę przeglądarkę albo otwórz ten adres w innej.',
      lacks: (names: string[]) => `Brakuje: ${names.join(', ')}.`,
    },

    bar: {
      filter: 'Filtruj po nazwie',
      clearFilter: 'Wyczyść filtr',
      account: 'Konto',
      settings: 'Ustawienia',
      signOut: 'Wyloguj się',
      menu: 'Foldery',
      about: 'O szafie',
    },

    settings: {
      title: 'Ustawienia',
      language: 'Język',
      ofBrowser: 'Taki jak w przeglądarce',
      colours: 'Kolory',
      ofSystem: 'Takie jak w systemie',
      light: 'Jasne',
      dark: 'Ciemne',
      hint: 'Dotyczą tej przeglądarki, także po wylogowaniu.',
    },

    places: {
      title: 'Foldery',
      all: 'Wszystkie pliki',
      make: 'Nowy folder',
      makeName: 'Nazwa folderu',
      makeDo: 'Utwórz',
      unverifiedHint:
        'Utworzony przez inny program: jego nazwa nie jest zaszyfrowana i mogła zostać zmieniona.',
    },

    quota: {
      label: 'Zajęte miejsce',
      of: (used: string, all: string) => `${used} z ${all}`,
      over: 'Twoje miejsce się skończyło',
    },

    list: {
      label: 'Pliki',
      count: files,
      found: (what: string) => `Znaleziono: ${what}`,
      uploading: 'Pliki pojawią się tutaj po wysłaniu.',
      name: 'Nazwa',
      size: 'Rozmiar',
      date: 'Dodano',
      acts: 'Działania',
      select: (name: string) => `Zaznacz ${name}`,
      selectAll: 'Zaznacz wszystko',
      unverified: 'Jawna nazwa',
      unverifiedHint:
        'Wysłany przez inny program: jego nazwa nie jest zaszyfrowana i mogła zostać zmieniona.',
      problem: 'Błąd weryfikacji',
      problemHint: 'Serwer zmienił lub pomylił ten wpis. Nie ufaj mu.',
      more: (name: string) => `Więcej działań: ${name}`,
      loading: 'Otwieranie plików…',
      emptyTitle: 'Nic tu jeszcze nie ma',
      emptyBody:
        'Upuść pliki lub foldery gdziekolwiek na tej stronie. Zostaną zaszyfrowane, zanim zostaną wysłane.',
      emptyDir: 'Ten folder jest pusty',
      noMatch: (filter: string) => `Żadna nazwa nie zawiera „${filter}”`,
      noMatchBody: 'Wyszukiwanie obejmuje nazwy wszystkich plików i folderów.',
      failedTitle: 'Nie udało się wczytać listy',
      retry: 'Spróbuj ponownie',
    },

    firstSteps: {
      title: 'Pierwsze kroki',
      upload: { title: 'Wyślij pliki', why: 'Albo upuść je tutaj lub wklej obraz.' },
      folder: { title: 'Utwórz folder', why: 'Foldery mogą być w folderach.' },
      recovery: { title: 'Sprawdź klucz odzyskiwania', why: 'Bez niego utrata hasła to utrata plików.' },
      command: { title: 'Pobierz polecenie', why: 'Do kopii zapasowych i do wielu lub dużych plików.' },
    },

    actions: {
      upload: 'Wyślij pliki',
      uploadFolder: 'Wyślij folder',
      uploadShort: 'Wyślij',
      wait: 'Proszę czekać…',
      pasted: 'Wklejone',
      preview: 'Podgląd',
      download: 'Pobierz',
      move: 'Przenieś',
      copy: 'Utwórz kopię',
      remove: 'Usuń',
      selected: (count: number) => `Zaznaczono: ${number(count)}`,
      clear: 'Usuń zaznaczenie',
      cancel: 'Anuluj',
      close: 'Zamknij',
    },

    rename: {
      title: 'Zmień nazwę',
      label: 'Nowa nazwa',
      do: 'Zmień nazwę',
      doing: (count: number, all: number) => `Zmiana nazwy: ${share(count, all)}`,
      done: () => 'Zmieniono nazwę',
      failed: (why: string) => `Nie udało się zmienić nazwy. ${why}`,
      partly: (why: string) => `Nie wszędzie zmieniono nazwę. ${why}`,
      unsure: (why: string) => `Nie wiadomo, czy zmieniono nazwę. ${why}`,
    },
    move: {
      title: (count: number) => (count === 1 ? 'Przenieś do' : `Przenieś ${items(count)} do`),
      do: 'Przenieś',
      doing: (count: number, all: number) => `Przenoszenie: ${share(count, all)}`,
      done: (count: number) => (count === 1 ? 'Przeniesiono' : `Przeniesiono ${items(count)}`),
      failed: (why: string) => `Niczego nie przeniesiono. ${why}`,
      partly: (why: string) => `Nie wszystko przeniesiono. ${why}`,
      unsure: (why: string) => `Nie wiadomo, czy wszystko przeniesiono. ${why}`,
    },
    copy: {
      title: (count: number) => (count === 1 ? 'Kopiuj do' : `Kopiuj ${items(count)} do`),
      do: 'Kopiuj',
      doing: (count: number, all: number) => `Kopiowanie: ${share(count, all)}`,
      done: (count: number) => (count === 1 ? 'Skopiowano' : `Skopiowano ${files(count)}`),
      failed: (why: string) => `Nie wszystko skopiowano. ${why}`,
    },
    trash: {
      title: 'Kosz',
      when: 'Usunięto',
      doing: (count: number, all: number) => `Usuwanie: ${share(count, all)}`,
      done: (count: number) =>
        count === 1 ? 'Przeniesiono do kosza' : `Przeniesiono do kosza ${items(count)}`,
      failed: (why: string) => `Nie wszystko przeniesiono do kosza. ${why}`,
      empty: 'Kosz jest pusty',
      emptyBody: 'To, co usuwasz, trafia najpierw tutaj i przez pewien czas można to przywrócić.',
      emptyNow: 'Opróżnij kosz',
      leaves: (when: string) => `Zostanie trwale usunięty: ${when}`,
      counts: 'To, co tu jest, nadal zajmuje Twoje miejsce, dopóki nie zostanie trwale usunięte.',
    },
    restore: {
      do: 'Przywróć',
      doing: (count: number, all: number) => `Przywracanie: ${share(count, all)}`,
      done: (count: number) => (count === 1 ? 'Przywrócono' : `Przywrócono ${files(count)}`),
      failed: (why: string) => `Nie wszystko przywrócono. ${why}`,
    },
    remove: {
      do: 'Usuń trwale',
      title: (count: number) => (count === 1 ? 'Usunąć trwale ten plik?' : `Usunąć trwale ${files(count)}?`),
      body: 'Tego nie można cofnąć: zaszyfrowane dane zostaną usunięte z serwera.',
      doing: (count: number, all: number) => `Usuwanie: ${share(count, all)}`,
      done: (count: number) => (count === 1 ? 'Usunięto trwale' : `Usunięto trwale ${files(count)}`),
      failed: (why: string) => `Nie wszystko usunięto. ${why}`,
    },
    versions: {
      title: 'Wersje',
      short: (count: number) =>
        plural(count, { one: 'wersja', few: 'wersje', many: 'wersji', other: 'wersji' }),
      one: 'Jest jedna wersja tego pliku. Kolejna powstanie, gdy wyślesz tu plik o tej samej nazwie.',
      current: 'Aktualna',
      restore: (when: string) => `Ustaw wersję z ${when} jako aktualną`,
      download: (when: string) => `Pobierz wersję z ${when}`,
      remove: (when: string) => `Usuń wersję z ${when}`,
      restored: 'Ta wersja jest teraz aktualna',
      restoring: 'Przywracanie…',
    },
    names: {
      empty: 'Podaj nazwę.',
      slash: 'Nazwa nie może zawierać /',
      dots: 'To nie jest nazwa.',
      folderTaken: 'Folder o tej nazwie już istnieje.',
      fileTaken: 'Plik o tej nazwie już istnieje.',
    },
    collision: {
      title: 'To już tu jest',
      file: (name: string, folder: string) => `W folderze ${folder} jest już plik ${name}.`,
      folder: (name: string, folder: string) => `W folderze ${folder} jest już folder ${name}.`,
      skip: 'Pomiń',
      replace: 'Zastąp',
      replaceHint: 'To, co tam jest, pozostanie jako wcześniejsza wersja.',
      both: 'Zachowaj oba',
      forAll: (count: number) => `Tak samo dla kolejnych: ${number(count)}`,
    },
    tree: {
      open: 'Otwórz',
      path: 'Ścieżka',
      gone: 'Tego pliku już nie ma.',
      undo: 'Cofnij',
      here: 'Jest tutaj',
      intoItself: 'Folderu nie można umieścić w nim samym.',
      makeHere: 'Nowy folder w tym miejscu',
      counts: (folderCount: number, fileCount: number) =>
        [folderCount > 0 && folders(folderCount), (fileCount > 0 || folderCount === 0) && files(fileCount)]
          .filter(Boolean)
          .join(', '),
    },

    leave: {
      title: 'Wylogować się teraz?',
      body: (uploadCount: number, downloadCount: number) => {
        const counts = [
          uploadCount > 0 && uploads(uploadCount),
          downloadCount > 0 && downloads(downloadCount),
        ];
        const stopped = `Zostanie przerwane: ${counts.filter(Boolean).join(' i ')}.`;
        if (uploadCount === 0) return stopped;
        return `${stopped} Wylogowanie usuwa wszystko, co zapisała ta przeglądarka, więc niedokończone wysyłanie zacznie się po następnym zalogowaniu od początku.`;
      },
    },

    layouts: { title: 'Widok', list: 'Lista', grid: 'Siatka', timeline: 'Zdjęcia według miesięcy' },

    preview: {
      none: 'Nie ma podglądu dla tego rodzaju plików.',
      cut: 'To tylko początek. Pobierz plik, aby zobaczyć całość.',
      opening: 'Otwieranie…',
      failed: 'Nie udało się pokazać podglądu.',
      empty: 'Ten plik jest pusty.',
      added: (when: string) => `dodano ${when}`,
      modified: (when: string) => `zmieniono ${when}`,
      source: 'Pokaż źródło',
      larger: 'Powiększ',
      smaller: 'Pomniejsz',
      fit: 'Dopasuj',
      ahead: 'dodano w przyszłości: czy któryś zegar jest błędny?',
      previous: 'Poprzedni plik',
      next: 'Następny plik',
    },

    transfers: {
      title: 'Transfery',
      total: 'Wszystkie transfery',
      finishedOf: share,
      showFinished: (count: number) => `Pokaż zakończone: ${number(count)}`,
      hide: 'Ukryj transfery',
      show: 'Pokaż transfery',
      clear: 'Usuń zakończone',
      pauseAll: 'Wstrzymaj wszystkie',
      resumeAll: 'Wznów wszystkie',
      pause: (name: string) => `Wstrzymaj ${name}`,
      resume: (name: string) => `Wznów ${name}`,
      retry: (name: string) => `Spróbuj ponownie: ${name}`,
      cancel: (name: string) => `Anuluj ${name}`,
      dismiss: (name: string) => `Usuń ${name} z listy`,
      choose: (name: string) => `Wybierz ponownie ${name}`,
      waiting: 'Czeka',
      stalled: 'Czeka na serwer',
      upload: 'Wysyłanie',
      download: 'Pobieranie',
      paused: 'Wstrzymano',
      doneUpload: 'Wysłano',
      doneDownload: 'Pobrano',
      interrupted: 'Przerwano: wybierz plik ponownie, aby wznowić',
      interruptedHandle: 'Przerwano',
      rate: (rate: string) => `${rate}/s`,
      left: (time: string) => `zostało ${time}`,
      otherFile: 'To inny plik: jego nazwa, rozmiar lub czas się nie zgadza.',
      linksLeft: (count: number) =>
        `Pominięto w pliku zip: ${plural(count, { one: 'dowiązanie symboliczne', few: 'dowiązania symboliczne', many: 'dowiązań symbolicznych', other: 'dowiązania symbolicznego' })} (cel może być poza folderem).`,
      noWorker:
        'Ta przeglądarka nie potrafi tu zapisywać pobieranych plików na dysk. Powodem może być okno prywatne.',
    },

    share: {
      title: 'Udostępnianie',
      do: 'Udostępnij',
      what: 'Każdy, kto ma link, dostaje te pliki takie, jakie są teraz, bez konta. Późniejsze zmiany nie są udostępniane.',
      ends: 'Koniec',
      ended: {
        1: 'po jednym dniu',
        7: 'po tygodniu',
        30: 'po 30 dniach',
        365: 'po roku',
        never: 'gdy go zakończę',
      },
      downloads: 'Liczba pobrań',
      any: 'dowolna',
      downloadsHint: 'Ile razy można pobrać. Pierwszy podgląd pliku też się liczy.',
      passphrase: 'Hasło linku',
      passphraseHint: 'Jeśli je ustawisz, przekaż je inną drogą niż link.',
      note: 'Notatka dla tych, którzy go otworzą',
      make: 'Utwórz link',
      making: 'Tworzenie linku…',
      made: 'Link',
      whoever: 'Wyślij go, komu chcesz. Kto ma link, a także hasło, jeśli je ustawisz, ten ma pliki.',
      copy: 'Kopiuj link',
      copied: 'Skopiowano.',
      notCopied: 'Przeglądarka na to nie pozwala. Zaznacz link i skopiuj go ręcznie.',
      picture: 'Kod QR linku',
      later: 'Znajdziesz go w miejscu „Udostępnione”, gdzie można go zakończyć.',
      off: 'Udostępnianie jest na tym serwerze wyłączone.',
      tooMuch: 'Udostępniasz już za dużo. Zakończ najpierw niektóre linki.',
    },
    shared: {
      title: 'Udostępnione',
      count: links,
      empty: 'Nic nie udostępniasz',
      emptyBody:
        'Wybierz pliki lub folder, potem „Udostępnij”: linkiem inni dostaną je bez konta albo dostanie je jedno konto na tym serwerze.',
      unnamed: 'Bez nazwy',
      downloads: (count: number, all: number | null) =>
        all === null ? `pobrania: ${number(count)}` : `pobrania: ${number(count)} z ${number(all)}`,
      until: (when: string) => `do: ${when}`,
      endless: 'bez terminu',
      to: (name: string) => `dla: ${name}`,
      passphrase: 'z hasłem',
      missing: (count: number) => `usunięte lub w koszu i niedostępne: ${files(count)}`,
      over: { expired: 'wygasł', 'used up': 'wykorzystany', ended: 'zakończony' },
      copyOf: (name: string) => `Kopiuj link do: ${name}`,
      endOf: (name: string) => `Zakończ link do: ${name}`,
      endShareOf: (name: string, to: string) => `Zakończ udostępnianie: ${name}, dla: ${to}`,
      dropOf: (name: string) => `Usuń ${name} z listy`,
      end: 'Zakończ link',
      endShare: 'Zakończ',
      endTitle: 'Zakończyć ten link?',
      endShareTitle: (to: string) => `Zakończyć to, co dostaje ${to}?`,
      endBody:
        'Od tej chwili nikt nic tą drogą nie dostanie. Co zostało pobrane, zostaje u tych, którzy to mają.',
      done: 'Link jest zakończony.',
      shareDone: 'Zakończono.',
    },
    received: { title: 'Udostępnione mi' },
    visitor: {
      title: 'Udostępnione Tobie',
      opening: 'Otwieranie linku…',
      note: 'Notatka',
      missing: 'usunięty w międzyczasie przez właściciela',
      downloadOf: (name: string) => `Pobierz ${name}`,
      downloadAll: 'Pobierz wszystko jako zip',
      more: (count: number) => `Pokaż jeszcze ${number(count)}`,
      passphrase: 'Hasło linku',
      open: 'Otwórz',
    },
    link: {
      full: {
        title: 'Ten link nie przyjmuje już więcej',
        next: 'Przyszło tyle, na ile pozwolił właściciel, albo ten plik jest większy niż pozostałe miejsce. Zapytaj osobę, która go wysłała.',
      },
      expired: {
        title: 'Ten link wygasł',
        next: 'Poproś o nowy osobę, która go wysłała.',
      },
      'used up': {
        title: 'Ten link jest wykorzystany',
        next: 'Pobrano z niego tyle razy, ile pozwolił właściciel. Poproś o nowy osobę, która go wysłała. Pobieranie, które zaczęło się w innej karcie, można w niej dokończyć.',
      },
      ended: {
        title: 'Ten link jest zakończony',
        next: 'Właściciel go wycofał albo plików już nie ma. Zapytaj osobę, która go wysłała.',
      },
      unknown: {
        title: 'Nie ma tu takiego linku',
        next: 'Mógł się skończyć dawno temu albo jego część zmieniła się po drodze. Skopiuj cały link jeszcze raz z wiadomości, w której przyszedł, albo zapytaj osobę, która go wysłała.',
      },
      incomplete: {
        title: 'Ten link jest niepełny',
        next: 'Link kończy się znakiem # i długim kluczem za nim. Bez klucza nikt go nie użyje, także serwer. Skopiuj cały link jeszcze raz z wiadomości, w której przyszedł.',
      },
      changed: {
        title: 'To nie jest to, do czego ten link powstał',
        next: 'Link zmienił się po drodze albo serwer podaje coś innego, niż zostawił tam właściciel. Dlatego nie zostanie użyty. Skopiuj cały link jeszcze raz z wiadomości, w której przyszedł; jeśli to nie pomoże, powiadom osobę, która go wysłała.',
      },
    },

    drop: { title: 'Upuść, aby wysłać', into: (place: string) => `do: ${place}` },

    state: {
      offline: 'Nie masz połączenia. Wysyłanie ruszy dalej, gdy połączenie wróci.',
      unreachable: 'Serwer nie odpowiada.',
      back: 'Serwer znów działa.',
      expired:
        'Twoja sesja się skończyła. Długo nie była używana albo zakończono ją na innym urządzeniu, albo zmieniono hasło, co kończy wszystkie inne sesje. Zaloguj się ponownie; jeśli zmieniono hasło, to nowym.',
      otherPassword: 'Hasło tego konta zostało zmienione. Zaloguj się nowym.',
      deleted: (username: string) => `Konto ${username} zostało usunięte wraz ze wszystkim, co w nim było.`,
      elsewhere: 'Wylogowano w innej karcie.',
      noLine: 'Nie masz połączenia.',
      away: 'Twoje pliki są bezpieczne na serwerze. Zobaczysz je, gdy tylko uda się z nim połączyć.',
      trying: 'Kolejna próba…',
      starting: 'Otwieranie szafy…',
      leaving: 'Wylogowywanie…',
    },

    about: {
      title: 'O szafie',
      lines: [
        'Pliki są szyfrowane tutaj, na tej stronie, i dzielone na części. Serwer przechowuje części i nie ma klucza.',
        'Nazwy plików i folderów też są zaszyfrowane. Serwer widzi rozmiary, czasy, liczbę plików i to, które są w tym samym folderze.',
        'Nazwa jest związana z zawartością, a ścieżka z nazwą: serwer nie może zamienić dwóch plików ani przełożyć pliku do innego folderu tak, żeby nie było tego widać.',
        'Folder, w którym jesteś, jest częścią adresu po znaku #. Przeglądarka nie wysyła jej nikomu, ale zapisuje ją w swojej historii.',
        'Klucze pozostają w tej przeglądarce do wylogowania, w postaci, której nie można wyeksportować. Gdyby serwer zmienił tę stronę, strona wciąż mogłaby ich użyć.',
      ],
      command: 'Wiersz poleceń',
      commandHow: 'Na komputerze z Node 26:',
      commandDigest: 'SHA-256 tego pliku:',
      keys: 'Klawiatura',
      shortcuts: [
        ['↑ ↓', 'Ruch po liście'],
        ['Enter', 'Otwórz'],
        ['Backspace', 'Do folderu powyżej'],
        ['Spacja', 'Zaznacz'],
        ['Shift ↑ ↓', 'Zaznacz od do'],
        ['Ctrl A', 'Zaznacz wszystko'],
        ['F2', 'Zmień nazwę'],
        ['Shift F10', 'Menu kontekstowe'],
        ['Delete', 'Przenieś do kosza'],
        ['/', 'Filtruj'],
        ['U', 'Wyślij'],
        ['← →', 'W podglądzie: poprzedni i następny plik'],
        ['+ − 0', 'W podglądzie: powiększ, pomniejsz, dopasuj'],
        ['Esc', 'Usuń zaznaczenie, zamknij'],
        ['?', 'Ta lista'],
      ],
      docs: 'Dokumentacja API',
    },

    status: {
      400: 'Serwer tego nie przyjął.',
      401: 'Twoja sesja się skończyła. Zaloguj się ponownie.',
      403: 'Serwer na to nie pozwala.',
      404: 'To już nie istnieje.',
      413: 'Plik ma zbyt wiele części.',
      429: 'Zbyt wiele prób. Poczekaj minutę i spróbuj ponownie.',
      500: 'Serwer miał błąd. Spróbuj ponownie.',
      503: 'Serwer jest zajęty. Spróbuj ponownie.',
      507: 'Nie ma już dość miejsca.',
    },
    codes: {
      network: 'Nie można połączyć się z serwerem.',
      'not-the-service': 'Pod tym adresem nie odpowiada szafa.',
      'wrong-password':
        'To hasło nie otwiera plików tego konta. Jeśli mają osobne hasło, użyj polecenia szafa.',
      'wrong-passkey':
        'Klucz dostępu nie został przyjęty: mógł zostać usunięty albo odpowiedź przyszła za późno. Spróbuj jeszcze raz.',
      'no-passkey':
        'Przeglądarka nie podała klucza dostępu: anulowano, trwało to za długo albo nie ma go dla tej strony.',
      'passkey-known': 'To urządzenie ma już klucz dostępu tego konta.',
      'passkey-second':
        'Ten klucz dostępu sam nie otworzy plików: zaloguj się hasłem i użyj go jako drugiego składnika.',
      'wrong-code':
        'Kod jest błędny albo był już użyty. Poczekaj na następny; jeśli żaden nie działa, sprawdź zegar urządzenia, które go pokazuje.',
      'wrong-passphrase':
        'Hasło linku jest błędne. Spróbuj ponownie: wielkie i małe litery oraz spacje mają znaczenie.',
      locked: 'Sesja na tej stronie jest zakończona.',
      gone: 'To już nie istnieje.',
      conflict: 'Inne urządzenie lub inna karta zmieniły to w tej samej chwili. Sprawdź, jak jest teraz.',
      tampered: 'To zostało zmienione po wysłaniu, więc nie zostało otwarte.',
      'keys-changed':
        'Inne urządzenie lub inna karta zmieniły w tej samej chwili klucze tego konta. Obowiązuje tamta zmiana, ta nie.',
      unsettled:
        'Serwer nie odpowiedział, więc nie wiadomo, czy to zrobił. Spróbuj ponownie: drugi raz to samo nie zaszkodzi.',
      'too-many': 'To za dużo plików na jeden link.',
      unsupported: 'To zrobił inny program albo nowsza wersja. Otwórz to tam.',
      'file-changed': 'Plik zmienił się podczas wysyłania.',
      'too-long': 'Serwer wysłał więcej, niż powinien.',
      stopped: 'Zatrzymano.',
      refused: 'Przeglądarka odrzuciła lub przerwała to pobieranie.',
      'old-tab': 'W innej karcie jest otwarta starsza wersja tej strony. Zamknij ją i spróbuj ponownie.',
      'part-missing':
        'Nie udało się wczytać części tej strony. Spróbuj jeszcze raz albo wczytaj stronę ponownie.',
    },
    rule(message: string) {
      const [, words] = RULES.find(([pattern]) => pattern.test(message)) ?? [];
      return words ?? `serwer na to nie pozwala: ${message}`;
    },
    refused: (message: string) => `Serwer odmówił: ${message}`,
  };
}

const RULES: [RegExp, string][] = [
  [/^username/, 'nazwa użytkownika ma od 3 do 32 liter (bez polskich znaków), cyfr lub podkreśleń'],
  [/empty/, 'nazwa jest pusta'],
  [/contain/, 'nazwa zawiera znaki, które nie są dozwolone'],
  [/too long|more than/, 'nazwa jest za długa'],
];
