import { type Command, formsOf, optionsOf, usageError } from './command.ts';

type Shell = 'bash' | 'zsh' | 'fish';

/** @param loadCommands loads the commands to complete */
export function createCompletion(loadCommands: () => Promise<Command[]>): Command {
  return {
    name: 'completion',
    usage: 'bash | zsh | fish',
    summary: 'Print a script that completes commands and options in your shell.',
    details: `Add it to the file that your shell reads at the start:
  bash  echo 'source <(belfry completion bash)' >> ~/.bashrc
  zsh   echo 'source <(belfry completion zsh)' >> ~/.zshrc
  fish  belfry completion fish > ~/.config/fish/completions/belfry.fish`,
    examples: ['source <(belfry completion bash)'],
    async run([shell, ...others], { print }) {
      if (!shell || !Object.hasOwn(scripts, shell) || others.length > 0) throw usageError('choose bash, zsh or fish');
      print(scripts[shell as Shell](await loadCommands()));
    },
  };
}

const scripts: Record<Shell, (commands: Command[]) => string> = {
  bash: toBash,
  // zsh runs the completions of bash.
  zsh: commands => `autoload -U +X compinit bashcompinit && compinit && bashcompinit\n${toBash(commands)}`,
  fish: toFish,
};

/** The verbs of a command, such as `create`, and its options. */
function wordsOf(command: Command): string[] {
  const verbs = formsOf(command).flatMap(form => /^[a-z]+/.exec(form)?.[0] ?? []);
  return [...new Set([...verbs, ...optionsOf(command)])];
}

function toBash(commands: Command[]): string {
  const names = [...commands.map(({ name }) => name), 'help', '--version'].join(' ');
  return `_belfry() {
  local words="${names}"
  if [ "$COMP_CWORD" -gt 1 ]; then
    case "\${COMP_WORDS[1]}" in
${commands.map(command => `      ${command.name}) words="${wordsOf(command).join(' ')}" ;;`).join('\n')}
      *) words="" ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _belfry belfry`;
}

function toFish(commands: Command[]): string {
  const quote = (text: string) => `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
  return commands
    .flatMap(command => [
      `complete -c belfry -n __fish_use_subcommand -f -a ${command.name} -d ${quote(command.summary)}`,
      ...wordsOf(command).map(word => {
        const condition = `-n '__fish_seen_subcommand_from ${command.name}'`;
        return `complete -c belfry ${condition} ${word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${word}`}`;
      }),
    ])
    .join('\n');
}
