import { version } from '../version.ts';
import { type Terminal, wrongUsage } from './command.ts';
import { findCommand, loadCommands } from './commands.ts';
import { formatTable } from './format.ts';

export async function help([name]: string[], { print }: Terminal): Promise<number> {
  if (name === undefined) {
    const commands = await loadCommands();
    print(`Belfry ${version}: a self-hosted, multi-tenant notification service.\n`);
    print('Usage: belfry COMMAND [OPTIONS]');
    print('       belfry --version\n');
    print(
      formatTable([
        ...commands.map(command => [`  ${command.name}`, command.summary]),
        ['  help', 'This page, or with a command its details.'],
      ]),
    );
    print(`\nExamples:\n${commands.map(command => `  ${command.examples[0]}`).join('\n')}`);
    print('\nWithout BELFRY_URL and BELFRY_KEY the commands work on DATABASE_URL, or on the embedded database of');
    print('BELFRY_DATA_DIR, whether or not a server is running. With them they speak to that server.');
    return 0;
  }
  const command = await findCommand(name);
  if (!command) throw wrongUsage(`there is no command ${name}: see \`belfry help\``);
  print(`${command.summary}\n\nUsage: belfry ${command.name} ${command.usage}`.trimEnd());
  if (command.details) print(`\n${command.details}`);
  print(`\nExamples:\n${command.examples.map(example => `  ${example}`).join('\n')}`);
  return 0;
}
