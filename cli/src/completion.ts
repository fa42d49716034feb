import type { CommandEntry, CommandTable } from './command.ts';
import { commonOptions, type Option, type OptionName, options } from './options.ts';

function optionsOf({ options: own }: CommandEntry): [OptionName, Option][] {
  const names = [...own, ...(Object.keys(commonOptions) as OptionName[])];
  return names.map((name) => [name, options[name]]);
}

const single = (text: string) => text.replaceAll("'", "'\\''");

function bash(commands: CommandTable): string {
  const cases = Object.entries(commands).map(([name, entry]) => {
    const words = optionsOf(entry).map(([option]) => `--${option}`);
    const args = Array.isArray(entry.completes) ? entry.completes : [];
    return `    ${name}) words='${[...args, ...words].join(' ')}'; files=${entry.completes === 'file' ? 1 : ''} ;;`;
  });
  const withPath = Object.entries(options).filter(([, option]) => option.completes);
  const withValue = Object.entries(options).filter(([, option]) => option.value && !option.completes);
  const pattern = (list: [string, Option][]) =>
    list.flatMap(([name, { short }]) => [`--${name}`, ...(short ? [`-${short}`] : [])]).join('|');
  return `# bash completion for szafa
_szafa() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command= words= files= i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in -*) ;; *) command=\${COMP_WORDS[i]}; break ;; esac
  done
  case $prev in
    ${pattern(withPath)}) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
    ${pattern(withValue)}) return ;;
  esac
  case $command in
    '') words='${Object.keys(commands).join(' ')} --help --version' ;;
${cases.join('\n')}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  if [[ -n $files && $cur != -* ]]; then
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}
complete -F _szafa szafa
`;
}

function zsh(commands: CommandTable): string {
  const spec = ([name, { value, short, help, completes }]: [string, Option]) => {
    const about = single(help.replaceAll('[', '(').replaceAll(']', ')').replaceAll(':', ','));
    const action = completes === 'folder' ? '_files -/' : completes ? '_files' : ' ';
    const tail = `[${about}]${value ? `:${value}:${action}` : ''}`;
    return short ? `'(-${short} --${name})'{-${short},--${name}}'${tail}'` : `'--${name}${tail}'`;
  };
  const cases = Object.entries(commands).map(([name, entry]) => {
    const rest = entry.completes === 'file' ? "'*:file:_files'" : '';
    const words = Array.isArray(entry.completes) ? `'1:argument:(${entry.completes.join(' ')})'` : rest;
    return `    ${name}) _arguments ${[...optionsOf(entry).map(spec), words].join(' ')} ;;`;
  });
  const list = Object.entries(commands).map(([name, { summary }]) => `    '${name}:${single(summary)}'`);
  return `#compdef szafa
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
    if (entry.completes === 'file') lines.push(`complete -c szafa ${when} -F`);
    if (Array.isArray(entry.completes))
      lines.push(`complete -c szafa ${when} -a '${entry.completes.join(' ')}'`);
    for (const [option, { value, short, help, completes }] of optionsOf(entry)) {
      const takes = completes ? ' -r -F' : value ? ' -x' : '';
      lines.push(
        `complete -c szafa ${when} -l ${option}${short ? ` -s ${short}` : ''}${takes} -d '${single(help)}'`,
      );
    }
  }
  return `${lines.join('\n')}\n`;
}

const shells: Record<string, (commands: CommandTable) => string> = { bash, zsh, fish };

/** Generated from the table of commands, so it cannot fall behind it. */
export function completionScript(shell: string, commands: CommandTable): string | undefined {
  return Object.hasOwn(shells, shell) ? shells[shell]!(commands) : undefined;
}
