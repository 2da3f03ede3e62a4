import { AppError } from '../core/errors.ts';
import { countOf } from '../lib/count-of.ts';
import { forgetPreviousKeys, type Rotation, rotateSecretKey } from '../services/operations/secrets.ts';
import { flag, readOptions, runAction } from './arguments.ts';
import { type Command, requireDatabaseHere, type Terminal } from './command.ts';

export const secret: Command = {
  name: 'secret',
  usage: 'rotate [--json] | forget [--json]',
  summary: 'Rotate the key that encrypts stored credentials.',
  details: `rotate  Re-encrypt everything with the current key. Belfry keeps running, and the command can be run again at any time.
        With the embedded database, it first generates a new key and keeps the previous one for reading.
        With BELFRY_SECRET_KEY, first set BELFRY_SECRET_KEY_PREVIOUS to the old key and BELFRY_SECRET_KEY to the new
        key for every process, and restart them.
forget  With the embedded database, remove previous keys once nothing is encrypted with them. Links that were signed with
        them stop working. With BELFRY_SECRET_KEY, unset BELFRY_SECRET_KEY_PREVIOUS instead.
--json  Print the result as JSON.

Exit code 1 if something cannot be decrypted; it is listed.`,
  examples: ['belfry secret rotate', 'belfry secret forget'],
  run: runAction('secret', { rotate, forget }),
};

async function rotate(args: string[], terminal: Terminal): Promise<void> {
  const { json } = readOptions(args, { json: flag });
  requireDatabaseHere(terminal);
  const { rotation, generated, previous } = await terminal.withDeps(async deps => ({
    rotation: await rotateSecretKey(deps),
    generated: deps.keyring.file !== undefined,
    previous: deps.keyring.passphrases().length - 1,
  }));
  if (json) terminal.print(JSON.stringify({ ...rotation, generated }));
  else {
    terminal.print(`${generated ? 'Generated a new key. ' : ''}${describe(rotation)}`);
    if (rotation.unreadable.length === 0 && previous > 0) {
      terminal.print(
        generated
          ? 'The previous key is still accepted for reading. Remove it in a minute with: belfry secret forget'
          : 'The previous key is no longer needed: unset BELFRY_SECRET_KEY_PREVIOUS and restart every process.',
      );
    }
  }
  requireReadable(rotation);
}

async function forget(args: string[], terminal: Terminal): Promise<void> {
  const { json } = readOptions(args, { json: flag });
  requireDatabaseHere(terminal);
  const rotation = await terminal.withDeps(deps => forgetPreviousKeys(deps, Date.now()));
  if (json) terminal.print(JSON.stringify(rotation));
  else {
    terminal.print(describe(rotation));
    const { forgotten } = rotation;
    terminal.print(forgotten === 1 ? 'Removed one previous key.' : `Removed ${forgotten || 'no'} previous keys.`);
  }
  requireReadable(rotation);
}

function describe({ reencrypted, current }: Rotation): string {
  const secrets = countOf(reencrypted, 'channel');
  return `Re-encrypted the secrets of ${secrets}; ${countOf(current, 'channel')} in total use the current key.`;
}

function requireReadable({ unreadable }: Rotation): void {
  if (unreadable.length === 0) return;
  throw new AppError(
    'secret.unreadable',
    `cannot decrypt the secrets of ${unreadable.join(', ')}: add the key they were stored with to ` +
      'BELFRY_SECRET_KEY_PREVIOUS and try again, or set these secrets again',
  );
}
