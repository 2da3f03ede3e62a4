/**
 * Changing the key that stored secrets are encrypted with. Whatever is kept encrypted for longer than a sign-in has to be
 * walked through here; test/secrets.test.ts looks for others. Each secret is replaced by itself, only if it is still what
 * was read: it may be stopped at any moment and begun again, and nobody waits for it.
 */
import { AppError } from '../core/errors.ts';
import { listSealedChannelsAcrossTenants, replaceSecrets } from '../db/channels.ts';
import { openSecrets, sealSecrets } from './channel-secrets.ts';
import type { Deps } from './deps.ts';

const readAtOnce = 100;
/** Whoever changes secrets with a key of before while this runs is found by the next pass. */
const mostPasses = 5;
/** A running process uses a new key after some seconds; until then it may still use that of before. */
const settledMs = 60_000;

export interface Rotation {
  /** How many were encrypted anew. */
  reencrypted: number;
  /** How many are encrypted with the current key. */
  current: number;
  /** Channels whose secrets no key that is known can read. */
  unreadable: string[];
}

/** With the embedded database a new key is made first; elsewhere it has been set. */
export async function rotateSecretKey(deps: Pick<Deps, 'db' | 'cipher' | 'keyring'>): Promise<Rotation> {
  await deps.keyring.file?.generate();
  return reencryptSecrets(deps);
}

/** Takes the keys of before out of the file, once nothing needs them. */
export async function forgetPreviousKeys(
  deps: Pick<Deps, 'db' | 'cipher' | 'keyring'>,
  now: number,
): Promise<Rotation & { forgotten: number }> {
  const { keyring } = deps;
  if (!keyring.file) {
    throw new AppError('usage.invalid', 'the keys are settings: unset BELFRY_SECRET_KEY_PREVIOUS and restart instead');
  }
  keyring.refresh();
  const forgotten = keyring.passphrases().length - 1;
  const ageMs = now - (await keyring.file.changedAt()).getTime();
  if (forgotten > 0 && ageMs < settledMs) {
    const seconds = Math.ceil((settledMs - ageMs) / 1_000);
    throw new AppError(
      'secret.key_in_use',
      `the key was changed a moment ago and running processes may still use the one of before: try again in ${seconds} s`,
    );
  }
  const rotation = await reencryptSecrets(deps);
  if (rotation.unreadable.length === 0 && forgotten > 0) await keyring.file.forgetPrevious();
  return { ...rotation, forgotten: rotation.unreadable.length === 0 ? forgotten : 0 };
}

export async function reencryptSecrets({ db, cipher }: Pick<Deps, 'db' | 'cipher'>): Promise<Rotation> {
  let reencrypted = 0;
  for (let pass = 1; ; pass++) {
    const found = await reencryptOnce({ db, cipher });
    reencrypted += found.reencrypted;
    if (found.changed === 0) return { reencrypted, current: found.current, unreadable: found.unreadable };
    if (pass === mostPasses) {
      throw new AppError(
        'secret.key_in_use',
        'channels are being changed with the key of before: give every process the new key, restart it, and try again',
      );
    }
  }
}

async function reencryptOnce({ db, cipher }: Pick<Deps, 'db' | 'cipher'>) {
  const found = { reencrypted: 0, current: 0, unreadable: [] as string[], changed: 0 };
  let after = 0;
  for (;;) {
    const channels = await listSealedChannelsAcrossTenants(db, { after, limit: readAtOnce });
    for (const channel of channels) {
      const { organization_id, organization, project, project_id, id, slug, secrets: from } = channel;
      if (cipher.isCurrent(from)) {
        found.current++;
        continue;
      }
      const path = [organization, project, slug].filter(Boolean).join('/');
      let to: Buffer;
      try {
        to = sealSecrets(cipher, organization_id, project_id, slug, openSecrets(cipher, organization_id, channel))!;
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        found.unreadable.push(path);
        continue;
      }
      if (await replaceSecrets(db, organization_id, id, { from, to })) {
        found.reencrypted++;
        found.current++;
      } else found.changed++;
    }
    if (channels.length < readAtOnce) return found;
    after = channels.at(-1)!.id;
  }
}
