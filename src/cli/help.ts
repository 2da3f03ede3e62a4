import { version } from '../version.ts';
import { formsOf, type Terminal } from './command.ts';
import { findCommand, loadGroups, unknownCommand } from './commands.ts';

export async function help([name]: string[], { print }: Terminal): Promise<void> {
  if (name === undefined) {
    const groups = await loadGroups();
    const commands = groups.flatMap(([, some]) => some);
    const width = Math.max(...commands.map(command => command.name.length));
    print(`Belfry ${version}: a self-hosted, multi-tenant notification service.\n`);
    print('Usage: belfry COMMAND [OPTIONS]');
    print('       belfry --version\n');
    for (const [title, some] of groups) {
      const rows = some.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`);
      print([`${title}:`, ...rows, ''].join('\n'));
    }
    print(`Examples:\n${commands.map(command => `  ${command.examples[0]}`).join('\n')}`);
    print(
      '\nCommands work on the database of DATABASE_URL, or on the embedded database in BELFRY_DATA_DIR, whether or not a',
    );
    print(
      'server is running. With BELFRY_URL and BELFRY_KEY, they use the API of that server instead, unless you add --local.',
    );
    print(
      'If standard error is a terminal, the first line there names the server or database; scripts do not get this line.',
    );
    print('\nRun `belfry help COMMAND` for the options of a command.');
    return;
  }
  const command = await findCommand(name);
  if (!command) throw unknownCommand(name);
  const forms = formsOf(command).map(form => `belfry ${command.name} ${form}`);
  print(`${command.summary}\n\nUsage: ${forms.join('\n       ')}`);
  if (command.details) print(`\n${command.details}`);
  print(`\nExamples:\n${command.examples.map(example => `  ${example}`).join('\n')}`);
}
