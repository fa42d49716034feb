import { type CommandTable, optionsOf } from './command.ts';
import { type Option, options } from './options.ts';

const single = (text: string) => text.replaceAll("'", "'\\''");

function bash(commands: CommandTable): string {
  const cases = Object.entries(commands).map(([name, entry]) => {
    const words = optionsOf(entry).map(([option]) => `--${option}`);
    const { completes } = entry;
    const args = Array.isArray(completes) ? completes : [];
    const kind = Array.isArray(completes) ? '' : (completes ?? '');
    return `    ${name}) words='${[...args, ...words].join(' ')}'; kind=${kind} ;;`;
  });
  const isHere = ([, { completes }]: [string, Option]) => completes === 'file' || completes === 'folder';
  const withPath = Object.entries(options).filter(isHere);
  const withFolder = Object.entries(options).filter(([, { completes }]) => completes === 'path-folder');
  const withValue = Object.entries(options).filter(([, option]) => option.value && !option.completes);
  const pattern = (list: [string, Option][]) =>
    list.flatMap(([name, { short }]) => [`--${name}`, ...(short ? [`-${short}`] : [])]).join('|');
  return `# bash completion for szafa
_szafa_server() {
  local typed=\${2//\\\\/}
  compopt -o filenames
  mapfile -t COMPREPLY < <("\${COMP_WORDS[0]}" complete "$1" "\${typed#[\\"\\']}" 2>/dev/null)
  [[ \${#COMPREPLY[@]} == 1 && \${COMPREPLY[0]} == */ ]] && compopt -o nospace
  return 0
}
_szafa() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command= words= kind= i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in -*) ;; *) command=\${COMP_WORDS[i]}; break ;; esac
  done
  case $prev in
    ${pattern(withPath)}) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
    ${pattern(withFolder)}) _szafa_server path-folder "$cur"; return ;;
    ${pattern(withValue)}) return ;;
  esac
  case $command in
    '') words='${Object.keys(commands).join(' ')} --help --version' ;;
${cases.join('\n')}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  [[ $cur == -* ]] && return
  case $kind in
    file) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    path*) _szafa_server "$kind" "$cur" ;;
  esac
}
complete -F _szafa szafa
`;
}

function zsh(commands: CommandTable): string {
  const actions: Record<string, string> = {
    file: '_files',
    folder: '_files -/',
    path: '_szafa_server path',
    'path-folder': '_szafa_server path-folder',
  };
  const spec = ([name, { value, short, help, completes }]: [string, Option]) => {
    const about = single(help.replaceAll('[', '(').replaceAll(']', ')').replaceAll(':', ','));
    const action = (completes && actions[completes]) ?? ' ';
    const tail = `[${about}]${value ? `:${value}:${action}` : ''}`;
    return short ? `'(-${short} --${name})'{-${short},--${name}}'${tail}'` : `'--${name}${tail}'`;
  };
  const cases = Object.entries(commands).map(([name, entry]) => {
    const { completes } = entry;
    const words = Array.isArray(completes)
      ? `'1:argument:(${completes.join(' ')})'`
      : completes
        ? `'*:path:${actions[completes]}'`
        : '';
    return `    ${name}) _arguments ${[...optionsOf(entry).map(spec), words].join(' ')} ;;`;
  });
  const list = Object.entries(commands).map(([name, { summary }]) => `    '${name}:${single(summary)}'`);
  return `#compdef szafa
_szafa_server() {
  local -a names=("\${(@f)$(szafa complete $1 "\${(Q)PREFIX}" 2>/dev/null)}")
  [[ -n $names[1] ]] && compadd -S '' -a names
}
_szafa() {
  local -a commands=(
${list.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${cases.join('\n')}
  esac
}
if [ "$funcstack[1]" = _szafa ]; then _szafa "$@"; else compdef _szafa szafa; fi
`;
}

function fish(commands: CommandTable): string {
  const lines = ['# fish completion for szafa', 'complete -c szafa -f'];
  for (const [name, entry] of Object.entries(commands)) {
    lines.push(`complete -c szafa -n __fish_use_subcommand -a ${name} -d '${single(entry.summary)}'`);
    const when = `-n '__fish_seen_subcommand_from ${name}'`;
    const { completes: args } = entry;
    const server = (kind: string) => `-a '(szafa complete ${kind} (commandline -ct) 2>/dev/null)'`;
    if (Array.isArray(args)) lines.push(`complete -c szafa ${when} -a '${args.join(' ')}'`);
    else if (args === 'file') lines.push(`complete -c szafa ${when} -F`);
    else if (args) lines.push(`complete -c szafa ${when} ${server(args)}`);
    for (const [option, { value, short, help, completes }] of optionsOf(entry)) {
      const there = completes === 'path-folder' ? ` -x ${server(completes)}` : undefined;
      const takes = there ?? (completes ? ' -r -F' : value ? ' -x' : '');
      lines.push(
        `complete -c szafa ${when} -l ${option}${short ? ` -s ${short}` : ''}${takes} -d '${single(help)}'`,
      );
    }
  }
  return `${lines.join('\n')}\n`;
}

const shells: Record<string, (commands: CommandTable) => string> = { bash, zsh, fish };

/** Generates a completion script from the command table. */
export function completionScript(shell: string, commands: CommandTable): string | undefined {
  const shown = Object.fromEntries(Object.entries(commands).filter(([, { hidden }]) => !hidden));
  return Object.hasOwn(shells, shell) ? shells[shell]!(shown) : undefined;
}
