/** Polish words, in the shape of the English ones. */
import type { Tools } from '../../core/text/language.ts';
import type { SharingWords } from './en.ts';

export function pl({ number, plural }: Tools): SharingWords {
  const files = (count: number) =>
    plural(count, { one: 'plik', few: 'pliki', many: 'plików', other: 'pliku' });
  return {
    linkHonest:
      'Klucz jest za znakiem #, którego przeglądarki nie wysyłają do serwera. Ale strona, którą otwiera link, pochodzi z serwera: wrogi serwer mógłby podać stronę, która przejmie klucz. Polecenia nie da się tak oszukać: szafa get LINK',
    received: {
      list: 'Co inni Ci udostępniają',
      empty: 'Nikt Ci nic nie udostępnia',
      emptyBody: 'Inni na tym serwerze mogą udostępniać Ci pliki, znając Twoją nazwę. Znajdziesz je tutaj.',
      from: (name: string) => `od: ${name}`,
      unnamed: 'Bez nazwy',
      left: (count: number) =>
        count === 0 ? 'pobrano już tyle razy, ile było można' : `pozostało pobrań: ${number(count)}`,
      missing: (count: number) => `usunięte od tego czasu: ${files(count)}`,
      compared: 'klucze porównane',
      notCompared: 'klucze nieporównane',
      notTrusted: 'nieotwarte',
      show: (name: string) => `Pokaż pliki: ${name}`,
      hide: (name: string) => `Ukryj pliki: ${name}`,
      note: 'Notatka',
      changed: (name: string) =>
        `Przyszło to z innymi kluczami, niż ${name} ma dotąd: konto założono na nowo albo ktoś, być może serwer, podszywa się pod ${name}. Nie zostało otwarte.`,
      changedNext: 'Zobacz klucze',
      broken: (name: string) =>
        `Nie ma tu podpisu konta ${name} albo coś zmieniono po drodze, więc nie zostało to otwarte. Poproś ${name} o ponowne udostępnienie.`,
      unsupported:
        'Powstało to w nowszej wersji, więc nie zostało otwarte. Odśwież stronę albo otwórz to tam.',
      over: {
        expired: 'To wygasło. Poproś o ponowne udostępnienie.',
        'used up': 'Pobrano to już tyle razy, ile było można. Poproś o ponowne udostępnienie.',
        ended: 'Udostępnianie zostało zakończone albo plików już nie ma.',
        unknown: 'Nie jest Ci to już udostępniane: udostępnianie zostało zakończone albo plików już nie ma.',
      },
      putAwayOf: (name: string) => `Odłóż: ${name}`,
      putAway: 'Odłóż',
      putAwayTitle: 'Odłożyć to?',
      putAwayBody:
        'Zniknie z Twojej listy na zawsze, a druga osoba zobaczy, że to koniec. Co masz już pobrane, zostaje u Ciebie.',
    },
    contacts: {
      title: 'Kontakty i odciski kluczy',
      show: 'Pokaż odciski kluczy',
      own: 'Twój odcisk kluczy',
      ownHint: 'Odczytaj go tym, z którymi się dzielisz: porównają go z tym, co widzą jako Twój.',
      others: 'Ci, z którymi się dzielisz',
      none: 'Z nikim się jeszcze nie dzielisz, a nikt z Tobą.',
      why: 'Serwer mógłby podać własne klucze pod czyjąś nazwą i czytać to, co udostępniasz. Jeśli oboje widzicie te same odciski, tak nie jest. Porównajcie je inną drogą niż przez ten serwer: twarzą w twarz albo przez telefon.',
      remembered:
        'Ta przeglądarka pamięta klucze każdego konta, które widziała, także po wylogowaniu, i bez Twojej zgody nie używa innych.',
      compared: 'porównane',
      notCompared: 'nieporównane',
      changed: 'inne klucze niż dotąd',
      same: 'Odcisk się zgadza',
      sameOf: (name: string) => `Odcisk się zgadza: ${name}`,
      nowCompared: (name: string) => `Klucze konta ${name} są odtąd uznane za porównane.`,
      renew: (name: string) => `Przyjmij nowe klucze konta ${name}`,
      renewWhy: (name: string) =>
        `Klucze, które serwer podaje dla ${name}, są inne niż dotąd. Konto założono na nowo albo ktoś, być może serwer, podszywa się pod ${name}. Nic nie jest z nimi udostępniane ani otwierane.`,
      renewHow: (name: string) =>
        `Poproś ${name}, inną drogą niż przez ten serwer, o odczytanie własnego odcisku. Wpisz, co usłyszysz: zostanie to porównane z nowymi kluczami, których tu nie widać.`,
      typed: (name: string) => `Odcisk, jaki odczytuje ${name}`,
      typedHint: '60 cyfr; odstępy nie mają znaczenia',
      accept: 'Przyjmij te klucze',
      accepted: (name: string) => `To są odtąd klucze konta ${name}.`,
      find: 'Nazwa konta',
      look: 'Zobacz klucze',
    },
    give: {
      to: 'Kto to dostanie',
      ways: {
        link: 'każdy, kto ma link',
        account: 'konto na tym serwerze',
      },
      what: 'To konto, i nikt inny, dostaje te pliki takie, jakie są teraz. Późniejsze zmiany nie są udostępniane.',
      name: 'Nazwa konta',
      nameHint:
        'Za pierwszym razem używane i zapamiętywane są klucze, które serwer podaje dla tej nazwy; potem żadne inne.',
      note: 'Notatka',
      do: 'Udostępnij',
      doing: 'Udostępnianie…',
      made: (name: string) => `Udostępnione kontu ${name}`,
      done: (name: string) => `${name} znajdzie to w miejscu „Udostępnione mi” albo poleceniem: szafa shared`,
      later: 'Znajdziesz to w miejscu „Udostępnione”, gdzie można to zakończyć.',
      first: (name: string) =>
        `Klucze konta ${name} są tymi, które podał serwer; ta przeglądarka je zapamiętała. Aby mieć pewność, że należą do ${name}, porównaj ten odcisk z tym, co ${name} widzi jako własny:`,
      compared: (name: string) => `Są to klucze, które już porównaliście: ${name} i Ty.`,
      changed: (name: string) =>
        `Nic nie zostało udostępnione: klucze, które serwer podaje dla ${name}, są inne niż dotąd. Konto założono na nowo albo ktoś, być może serwer, podszywa się pod ${name}.`,
      changedNext: 'Zobacz klucze',
    },
    asks: {
      ask: 'Poproś o pliki',
      links: 'Co udostępniasz',
      requests: 'O co prosisz',
      what: 'Kto ma link, może wysłać Ci pliki, bez konta. Są szyfrowane dla Ciebie, zanim opuszczą nadawcę, i czekają w „Udostępnione”, aż je przejmiesz.',
      where: 'Folder na to, co przyjdzie',
      choose: 'Wybierz ten folder',
      most: 'Najwięcej plików',
      size: 'Najwięcej GB razem',
      note: 'Notatka dla wysyłających',
      made: 'Link dla wysyłających',
      whoever: 'Daj go, komu chcesz: kto go ma, może wysłać Ci pliki, a żadnego nie odczyta.',
      honest:
        'Strona, którą otwiera link, pochodzi z serwera: wrogi mógłby podać taką, która odczyta pliki przed zaszyfrowaniem. Polecenia nie da się tak oszukać: szafa put PLIK --to LINK',
      tooMany: 'Prosisz już o zbyt wiele. Najpierw zakończ niektóre prośby.',
      came: (count: number, all: number) => `przyszło ${number(count)} z ${number(all)}`,
      coming: (count: number) => `w drodze: ${number(count)}`,
      over: { expired: 'wygasła', 'used up': 'pełna', ended: 'zakończona' },
      copyOf: (name: string) => `Kopiuj link dla: ${name}`,
      endOf: (name: string) => `Zakończ prośbę dla: ${name}`,
      end: 'Zakończ prośbę',
      endTitle: 'Zakończyć tę prośbę?',
      endBody: 'Od tej chwili nikt nic nie wyśle jej linkiem. Co przyszło, zostaje.',
      done: 'Prośba jest zakończona.',
      deliveries: 'Co przyszło',
      deliveriesHint:
        'To wysłali inni: zachowaj ostrożność. Nazwy i czasy podają wysyłający. Zajmuje Twoje miejsce, a w folderach będzie, gdy to przejmiesz.',
      into: (folder: string) => `dla: ${folder}`,
      take: 'Przejmij',
      takeOf: (name: string) => `Przejmij ${name}`,
      takeAll: (count: number) => (count === 1 ? 'Przejmij' : `Przejmij wszystko (${number(count)})`),
      taken: (count: number) => `Przejęto: ${files(count)}.`,
      drop: 'Usuń na zawsze',
      dropOf: (name: string) => `Usuń ${name}`,
      dropTitle: 'Usunąć to na zawsze?',
      dropBody: 'Nie trafi do kosza i nikt tego nie przywróci.',
      dropped: 'Usunięto.',
    },
    codes: {
      'no-contact':
        'Nie ma takiego konta, któremu można by coś udostępnić. Zapytaj o dokładną nazwę: wielkość liter ma znaczenie. Konto ma klucze od pierwszego zalogowania.',
      'no-such-keys':
        'Ta przeglądarka nie zna kluczy, którymi konta dzielą się plikami. Użyj nowszej albo polecenia: szafa shared',
      'own-account': 'To Twoje własne pliki. Udostępnij je komuś innemu.',
      'contact-changed': 'Klucze są inne niż dotąd.',
      'not-seen': 'Te klucze nie były tu jeszcze pokazane. Zobacz je jeszcze raz, potem porównaj.',
      fingerprint: 'Odcisk ma 60 cyfr.',
      'other-fingerprint':
        'Klucze, które podaje serwer, mają inny odcisk. Nie udostępniaj nic temu kontu, dopóki nie wiesz, skąd ta różnica: ktoś, być może serwer, może się podszywać.',
    },
    tooOften: 'Zbyt wiele pytań o nazwy. Spróbuj ponownie za minutę.',
  };
}
