const PATHS = {
  wardrobe:
    'M6 3h12a2 2 0 0 1 2 2v13a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V5a2 2 0 0 1 2-2ZM12 3v16M9.5 10v3M14.5 10v3M6.5 19v2M17.5 19v2',
  upload: 'M12 16V4M7 9l5-5 5 5M4 16v3a1 1 0 0 0 1 1h14a1 1 0 0 0 1-1v-3',
  download: 'M12 4v12M7 11l5 5 5-5M4 16v3a1 1 0 0 0 1 1h14a1 1 0 0 0 1-1v-3',
  folder: 'M3 7a2 2 0 0 1 2-2h4l2 2.5h8a2 2 0 0 1 2 2V17a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2Z',
  folderAdd:
    'M3 7a2 2 0 0 1 2-2h4l2 2.5h8a2 2 0 0 1 2 2V17a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2ZM12 10.5v5M9.5 13h5',
  folderUp:
    'M3 7a2 2 0 0 1 2-2h4l2 2.5h8a2 2 0 0 1 2 2V17a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2ZM12 16v-5M9.5 13l2.5-2.5 2.5 2.5',
  files: 'M8 3h7l4 4v9a1 1 0 0 1-1 1H8a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1ZM15 3v4h4M4 8v12a1 1 0 0 0 1 1h10',
  file: 'M7 3h7l5 5v12a1 1 0 0 1-1 1H7a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1ZM14 3v5h5',
  image:
    'M5 4h14a1 1 0 0 1 1 1v14a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V5a1 1 0 0 1 1-1ZM4 16l4.5-4.5L13 16l2.5-2.5L20 18M15 9.5h.01',
  film: 'M4 6a1 1 0 0 1 1-1h14a1 1 0 0 1 1 1v12a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1ZM10 9l5 3-5 3Z',
  sound:
    'M9 18V6l10-2v12M9 18a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0ZM19 16a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0Z',
  text: 'M7 3h7l5 5v12a1 1 0 0 1-1 1H7a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1ZM14 3v5h5M9 13h6M9 17h4',
  search: 'M11 4a7 7 0 1 1 0 14 7 7 0 0 1 0-14ZM20 20l-4-4',
  close: 'M6 6l12 12M18 6 6 18',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  move: 'M3 7a2 2 0 0 1 2-2h4l2 2.5h8a2 2 0 0 1 2 2V17a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2ZM9 13.5h6M13 11l2.5 2.5L13 16',
  copy: 'M9 8h9a1 1 0 0 1 1 1v10a1 1 0 0 1-1 1H9a1 1 0 0 1-1-1V9a1 1 0 0 1 1-1ZM5 16V5a1 1 0 0 1 1-1h9',
  link: 'M10 14a4 4 0 0 0 5.7 0l3-3a4 4 0 0 0-5.7-5.7l-1 1M14 10a4 4 0 0 0-5.7 0l-3 3a4 4 0 0 0 5.7 5.7l1-1',
  rename: 'M4 20h4L19 9l-4-4L4 16ZM13 7l4 4',
  versions: 'M4 12a8 8 0 1 0 2.3-5.7M4 5v5h5M12 8v4.5l3 2',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10.5 11v5M13.5 11v5',
  pause: 'M9 6v12M15 6v12',
  play: 'M8 5.5v13l10-6.5Z',
  retry: 'M20 11a8 8 0 1 0-2.3 6.3M20 5v6h-6',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  menu: 'M4 7h16M4 12h16M4 17h16',
  lock: 'M6 11h12a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1ZM8 11V8a4 4 0 0 1 8 0v3M12 15v2',
  eye: 'M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12ZM12 9.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5Z',
  warning: 'M12 4 2.5 20h19ZM12 10v4.5M12 17.2v.1',
  person: 'M12 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8ZM4.5 20a7.5 7.5 0 0 1 15 0',
  settings:
    'M4 8h9M19 8h1M16 5.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5ZM4 16h1M11 16h9M8 13.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5Z',
  grid: 'M4 4h6v6H4ZM14 4h6v6h-6ZM4 14h6v6H4ZM14 14h6v6h-6Z',
  plus: 'M12 5v14M5 12h14',
  minus: 'M5 12h14',
  up: 'M6 14l6-6 6 6',
  down: 'M6 10l6 6 6-6',
  left: 'M14 6l-6 6 6 6',
  right: 'M10 6l6 6-6 6',
  leave: 'M14 4H6a1 1 0 0 0-1 1v14a1 1 0 0 0 1 1h8M10 12h11M17.5 8.5 21 12l-3.5 3.5',
  info: 'M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17ZM12 11v5.5M12 7.8v.1',
  offline: 'M4 4l16 16M8.5 14.5a5 5 0 0 1 6 0M5.5 11.5A9 9 0 0 1 9 9.4M18.5 11.5A9 9 0 0 0 13 9M12 18.2v.1',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 20 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

const KINDS: [RegExp, IconName][] = [
  [/\.(png|jpe?g|gif|webp|avif|svg|bmp|heic|tiff?)$/i, 'image'],
  [/\.(mp4|m4v|webm|mov|mkv|ogv|avi)$/i, 'film'],
  [/\.(mp3|m4a|aac|og[ga]|opus|flac|wav)$/i, 'sound'],
  [/\.(txt|md|csv|tsv|log|json|xml|ya?ml|html?|pdf|docx?|odt|rtf|tex)$/i, 'text'],
];

export function iconOf(name: string): IconName {
  return KINDS.find(([pattern]) => pattern.test(name))?.[1] ?? 'file';
}
