import { parseArgs } from 'node:util';
import { AppError } from '../core/errors.ts';
import { forgetPreviousKeys, type Rotation, rotateSecretKey } from '../services/secrets.ts';
import { type Command, type Terminal, wrongUsage } from './command.ts';

export const secret: Command = {
  name: 'secret',
  usage: 'rotate [--json] | forget [--json]',
  summary: 'Changes the key that encrypts stored credentials.',
  details: `rotate  Encrypts everything anew with the current key. Nothing stops meanwhile, and it may be run again at any time.
        With the embedded database it makes a new key itself and keeps the old one readable.
        With BELFRY_SECRET_KEY, first set BELFRY_SECRET_KEY_PREVIOUS to the old key and BELFRY_SECRET_KEY to the new
        one for every process, and restart them.
forget  With the embedded database: removes old keys, once nothing is encrypted with them. Links that were signed with
        them stop working. With BELFRY_SECRET_KEY, unset BELFRY_SECRET_KEY_PREVIOUS instead.

Exit code 1 when something could not be decrypted; it is named.`,
  examples: ['belfry secret rotate', 'belfry secret forget'],
  async run([action, ...args], terminal) {
    if (action !== 'rotate' && action !== 'forget') {
      throw wrongUsage('say secret rotate or secret forget: see `belfry help secret`');
    }
    const { values } = parseArgs({ args, options: { json: { type: 'boolean' } } });
    if (terminal.config.url) {
      throw wrongUsage(
        'keys are changed where the database is: unset BELFRY_URL, and run this with the settings of the server',
      );
    }
    return action === 'rotate' ? rotate(terminal, values.json) : forget(terminal, values.json);
  },
};

async function rotate(terminal: Terminal, json = false): Promise<number> {
  const { rotation, generated, previous } = await terminal.withDeps(async deps => ({
    rotation: await rotateSecretKey(deps),
    generated: deps.keyring.file !== undefined,
    previous: deps.keyring.passphrases().length - 1,
  }));
  if (json) terminal.print(JSON.stringify({ ...rotation, generated }));
  else {
    terminal.print(`${generated ? 'Made a new key. ' : ''}${describe(rotation)}`);
    if (rotation.unreadable.length === 0 && previous > 0) {
      terminal.print(
        generated
          ? 'The old key is still readable; in a minute, remove it with: belfry secret forget'
          : 'Nothing needs the old key any more: unset BELFRY_SECRET_KEY_PREVIOUS and restart every process.',
      );
    }
  }
  return complain(rotation);
}

async function forget(terminal: Terminal, json = false): Promise<number> {
  const rotation = await terminal.withDeps(deps => forgetPreviousKeys(deps, Date.now()));
  if (json) terminal.print(JSON.stringify(rotation));
  else {
    terminal.print(describe(rotation));
    const { forgotten } = rotation;
    terminal.print(forgotten === 1 ? 'Removed one old key.' : `Removed ${forgotten || 'no'} old keys.`);
  }
  return complain(rotation);
}

function describe({ reencrypted, current }: Rotation): string {
  const channels = (count: number) => (count === 1 ? '1 channel' : `${count} channels`);
  return `Encrypted the secrets of ${channels(reencrypted)} anew; ${channels(current)} in all use the current key.`;
}

function complain({ unreadable }: Rotation): number {
  if (unreadable.length === 0) return 0;
  throw new AppError(
    'secret.unreadable',
    `no key that is known reads the secrets of ${unreadable.join(', ')}: add the key they were stored with to ` +
      'BELFRY_SECRET_KEY_PREVIOUS and try again, or give these channels their secrets anew',
  );
}
