/**
 * Changing the key that stored secrets are encrypted with. Whatever is kept encrypted for longer than a sign-in has to be
 * walked through here; test/secrets.test.ts looks for others. Each secret is replaced by itself, only if it is still what
 * was read: it may be stopped at any moment and begun again, and nobody waits for it.
 */
import { AppError } from '../core/errors.ts';
import { listSealedChannelsAcrossTenants, replaceSecrets } from '../db/channels.ts';
import type { PageRequest } from '../db/page.ts';
import { listSealedTotpAcrossTenants, replaceTotpAcrossTenants } from '../db/two-factor.ts';
import { listSealedWebhooksAcrossTenants, replaceWebhookSecrets } from '../db/webhooks.ts';
import { openSecrets, sealSecrets } from './channel-secrets.ts';
import type { Deps } from './deps.ts';
import { openTotpSecret, sealTotpSecret } from './two-factor.ts';
import { openWebhookSecrets, sealWebhookSecrets } from './webhook-secrets.ts';

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
  /** What no key that is known can read. */
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

/** Something that is kept encrypted. */
interface Sealed {
  id: number;
  /** How people know it. */
  name: string;
  sealed: Buffer;
  /** Throws an AppError where no key can read it. */
  reseal(): Buffer;
  /** False when somebody has changed or deleted it since it was read. */
  replace(to: Buffer): Promise<boolean>;
}

type Kept = Pick<Deps, 'db' | 'cipher'>;

/** Everything that is, by pages. */
const sources: ((kept: Kept, page: PageRequest) => Promise<Sealed[]>)[] = [
  listChannelSecrets,
  listTotpSecrets,
  listWebhookSecrets,
];

async function listChannelSecrets({ db, cipher }: Kept, page: PageRequest): Promise<Sealed[]> {
  const channels = await listSealedChannelsAcrossTenants(db, page);
  return channels.map(channel => {
    const { organization_id, organization, project, project_id, id, slug, secrets: from } = channel;
    return {
      id,
      name: [organization, project, slug].filter(Boolean).join('/'),
      sealed: from,
      reseal: () =>
        sealSecrets(cipher, organization_id, project_id, slug, openSecrets(cipher, organization_id, channel))!,
      replace: to => replaceSecrets(db, organization_id, id, { from, to }),
    };
  });
}

async function listTotpSecrets({ db, cipher }: Kept, page: PageRequest): Promise<Sealed[]> {
  const accounts = await listSealedTotpAcrossTenants(db, page);
  return accounts.map(({ id, email, totp_secret: from }) => ({
    id,
    name: `the authenticator app of ${email}`,
    sealed: from,
    reseal: () => sealTotpSecret(cipher, openTotpSecret(cipher, from, id), id),
    replace: to => replaceTotpAcrossTenants(db, id, { from, to }),
  }));
}

async function listWebhookSecrets({ db, cipher }: Kept, page: PageRequest): Promise<Sealed[]> {
  const webhooks = await listSealedWebhooksAcrossTenants(db, page);
  return webhooks.map(webhook => {
    const { organization_id, organization, id, slug, secrets: from } = webhook;
    return {
      id,
      name: `webhook ${organization}/${slug}`,
      sealed: from,
      reseal: () =>
        sealWebhookSecrets(cipher, organization_id, slug, openWebhookSecrets(cipher, organization_id, webhook)),
      replace: to => replaceWebhookSecrets(db, organization_id, id, { from, to }),
    };
  });
}

/** What no key that is known can read. */
export async function findUnreadableSecrets(kept: Kept): Promise<string[]> {
  const unreadable: string[] = [];
  for (const list of sources) {
    for (let after = 0, isLast = false; !isLast; ) {
      const page = await list(kept, { after, limit: readAtOnce });
      for (const one of page) {
        try {
          one.reseal();
        } catch (error) {
          if (!(error instanceof AppError)) throw error;
          unreadable.push(one.name);
        }
      }
      isLast = page.length < readAtOnce;
      after = page.at(-1)?.id ?? after;
    }
  }
  return unreadable;
}

async function reencryptOnce(kept: Kept) {
  const found = { reencrypted: 0, current: 0, unreadable: [] as string[], changed: 0 };
  for (const list of sources) {
    for (let after = 0, isLast = false; !isLast; ) {
      const page = await list(kept, { after, limit: readAtOnce });
      for (const one of page) {
        if (kept.cipher.isCurrent(one.sealed)) {
          found.current++;
          continue;
        }
        let to: Buffer;
        try {
          to = one.reseal();
        } catch (error) {
          if (!(error instanceof AppError)) throw error;
          found.unreadable.push(one.name);
          continue;
        }
        if (await one.replace(to)) {
          found.reencrypted++;
          found.current++;
        } else found.changed++;
      }
      isLast = page.length < readAtOnce;
      after = page.at(-1)?.id ?? after;
    }
  }
  return found;
}
