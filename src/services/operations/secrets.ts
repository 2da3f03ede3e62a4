/**
 * Rotation of the key that encrypts stored secrets. Everything that stays encrypted for longer than a sign-in must be
 * listed in `sources`; test/operations/secrets.test.ts finds omissions. Each secret is replaced in its own statement, and
 * only if it has not changed since it was read, so a rotation blocks nothing and can be interrupted and repeated.
 */
import { AppError } from '../../core/errors.ts';
import type { PageRequest } from '../../db/connection/page.ts';
import { listSealedTotpAcrossTenants, replaceTotpAcrossTenants } from '../../db/identity/two-factor.ts';
import {
  listSealedAcrossTenants,
  replaceSecrets,
  type SealedPage,
  type SealedRow,
  type SealedTable,
} from '../../db/operations/secrets.ts';
import type { Cipher } from '../../lib/secrets/cipher.ts';
import { openSecrets, sealSecrets } from '../../pipeline/channel-secrets.ts';
import { openCalendar, sealCalendar } from '../audience/on-call/calendars/secrets.ts';
import { openSourceSecrets, openWatch, sealSource, sealWatch } from '../configuration/source-secrets.ts';
import { openWebhookSecrets, sealWebhookSecrets } from '../configuration/webhook-secrets.ts';
import type { Deps } from '../deps.ts';
import { openTotpSecret, sealTotpSecret } from '../identity/sign-in/two-factor.ts';
import { type Check, check } from './health.ts';

const pageSize = 100;
/** The next pass finds secrets that another process stored with a previous key during this one. */
const maxPasses = 5;
/** Running processes pick up a new key within seconds; until then they may use the previous one. */
const settledMs = 60_000;

export interface Rotation {
  /** Secrets that were encrypted again. */
  reencrypted: number;
  /** Secrets that are encrypted with the current key. */
  current: number;
  /** Names of secrets that none of the keys can decrypt. */
  unreadable: string[];
}

/** Generates a new key first if the keys are deps in a file; otherwise the operator has set it. */
export async function rotateSecretKey(deps: Pick<Deps, 'db' | 'cipher' | 'keyring'>): Promise<Rotation> {
  await deps.keyring.file?.generate();
  return reencryptSecrets(deps);
}

/** Removes the previous keys from the file if no secret needs them. */
export async function forgetPreviousKeys(
  deps: Pick<Deps, 'db' | 'cipher' | 'keyring'>,
  now: number,
): Promise<Rotation & { forgotten: number }> {
  const { keyring } = deps;
  if (!keyring.file) {
    throw new AppError(
      'usage.invalid',
      'the keys come from settings: unset BELFRY_SECRET_KEY_PREVIOUS and restart instead',
    );
  }
  keyring.refresh();
  const forgotten = keyring.passphrases().length - 1;
  const ageMs = now - (await keyring.file.changedAt()).getTime();
  if (forgotten > 0 && ageMs < settledMs) {
    const seconds = Math.ceil((settledMs - ageMs) / 1_000);
    throw new AppError(
      'secret.key_in_use',
      `the key was changed a moment ago, and running processes may still use the previous one: try again in ${seconds} s`,
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
    if (pass === maxPasses) {
      throw new AppError(
        'secret.key_in_use',
        'secrets are still being stored with the previous key: give every process the new key, restart it, and try again',
      );
    }
  }
}

interface EncryptedSecret {
  id: number;
  /** Shown to the operator. */
  name: string;
  sealed: Buffer;
  /** Encrypts it with the current key. Throws an AppError if no key can decrypt it. */
  reseal(): Buffer;
  /** Returns false if it was changed or deleted since it was read. */
  replace(to: Buffer): Promise<boolean>;
}

type SecretDeps = Pick<Deps, 'db' | 'cipher'>;

type List = (deps: SecretDeps, page: SealedPage) => Promise<EncryptedSecret[]>;

/** What organizations have stored encrypted. The compiler finds tables that are missing. */
const tables: {
  [T in SealedTable]: {
    name(row: SealedRow<T>): string;
    reseal(cipher: Cipher, org: number, row: SealedRow<T>): Buffer;
  };
} = {
  channels: {
    name: ({ organization, project, slug }) => [organization, project, slug].filter(Boolean).join('/'),
    reseal: (cipher, org, row) => sealSecrets(cipher, org, row.project_id, row.slug, openSecrets(cipher, org, row))!,
  },
  webhooks: {
    name: ({ organization, slug }) => `webhook ${organization}/${slug}`,
    reseal: (cipher, org, row) => sealWebhookSecrets(cipher, org, row.slug, openWebhookSecrets(cipher, org, row)),
  },
  sources: {
    name: ({ organization, slug }) => `source ${organization}/${slug}`,
    reseal: (cipher, org, row) =>
      sealSource(cipher, org, row.application_id, row.slug, openSourceSecrets(cipher, org, row)).secrets,
  },
  heartbeats: {
    name: ({ organization, slug }) => `heartbeat ${organization}/${slug}`,
    reseal: (cipher, org, row) => {
      const opened = openSourceSecrets(cipher, org, row, 'heartbeat');
      return sealSource(cipher, org, row.application_id, row.slug, opened, 'heartbeat').secrets;
    },
  },
  absence_calendars: {
    name: ({ organization, id }) => `absence calendar ${organization}/${id}`,
    reseal: (cipher, org, row) => sealCalendar(cipher, org, row.user_id, openCalendar(cipher, org, row)),
  },
  watches: {
    name: ({ organization, slug }) => `watch ${organization}/${slug}`,
    reseal: (cipher, org, row) => sealWatch(cipher, org, row.application_id, row.slug, openWatch(cipher, org, row)!)!,
  },
};

function listOf<T extends SealedTable>(table: T): List {
  const { name, reseal } = tables[table];
  return async ({ db, cipher }, page) =>
    (await listSealedAcrossTenants(db, table, page)).map(row => {
      const { id, organization_id, secrets: from } = row;
      return {
        id,
        name: name(row),
        sealed: from,
        reseal: () => reseal(cipher, organization_id, row),
        replace: to => replaceSecrets(db, organization_id, table, id, { from, to }),
      };
    });
}

const listChannelSecrets = listOf('channels');
const otherTables = (Object.keys(tables) as SealedTable[]).filter(table => table !== 'channels').map(listOf);
const ofOrganizations = [listChannelSecrets, ...otherTables];

/** Everything that is stored encrypted, page by page. */
const sources: List[] = [...ofOrganizations, listTotpSecrets];

/** Encrypts everything of an organization with the current key. Throws if no key can decrypt some of it. */
export async function reencryptOrganization(deps: SecretDeps, organizationId: number): Promise<void> {
  for await (const secret of readSecrets(deps, ofOrganizations, organizationId)) {
    if (!deps.cipher.isCurrent(secret.sealed)) await secret.replace(secret.reseal());
  }
}

async function* readSecrets(deps: SecretDeps, lists: List[], organizationId?: number) {
  for (const list of lists) {
    for (let after = 0, isLast = false; !isLast; ) {
      const page = await list(deps, { after, limit: pageSize, organizationId });
      yield* page;
      isLast = page.length < pageSize;
      after = page.at(-1)?.id ?? after;
    }
  }
}

async function listTotpSecrets({ db, cipher }: SecretDeps, page: PageRequest): Promise<EncryptedSecret[]> {
  const accounts = await listSealedTotpAcrossTenants(db, page);
  return accounts.map(({ id, email, totp_secret: from }) => ({
    id,
    name: `the authenticator app of ${email}`,
    sealed: from,
    reseal: () => sealTotpSecret(cipher, openTotpSecret(cipher, from, id), id),
    replace: to => replaceTotpAcrossTenants(db, id, { from, to }),
  }));
}

/** Returns the names of secrets that none of the keys can decrypt. */
export async function findUnreadableSecrets(deps: SecretDeps, lists = sources): Promise<string[]> {
  const unreadable: string[] = [];
  for await (const secret of readSecrets(deps, lists)) if (!isReadable(secret)) unreadable.push(secret.name);
  return unreadable;
}

function isReadable(secret: EncryptedSecret): boolean {
  try {
    secret.reseal();
    return true;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return false;
  }
}

/** Name of the check that fails if secrets cannot be decrypted. It does not affect readiness: their messages wait. */
export const secretsCheck = 'secrets';
const maxChecked = 20;
const maxNamed = 5;

/** Checks the secrets of a few channels: a wrong key can decrypt none. Names no channel, because `/readyz` is public. */
export function checkSecrets(deps: SecretDeps): Promise<Check> {
  return check(secretsCheck, async () => {
    const channels = await listChannelSecrets(deps, { after: 0, limit: maxChecked });
    const unreadable = channels.filter(channel => !isReadable(channel)).length;
    if (unreadable === 0) return 'can be decrypted';
    throw new Error(
      `cannot be decrypted for ${unreadable} of ${channels.length} channels checked, so their messages wait: is ` +
        'BELFRY_SECRET_KEY the key that they were stored with? `belfry doctor` names the channels',
    );
  });
}

/** Checks all secrets but those of channels, which have their own check. */
export function checkOtherSecrets(deps: SecretDeps): Promise<Check> {
  return check(secretsCheck, async () => {
    const unreadable = await findUnreadableSecrets(deps, [listTotpSecrets, ...otherTables]);
    if (unreadable.length === 0)
      return 'of webhooks, sources, heartbeats, absence calendars, watches and accounts can be decrypted';
    const more = unreadable.length > maxNamed ? ` and ${unreadable.length - maxNamed} more` : '';
    throw new Error(
      `cannot be decrypted: ${unreadable.slice(0, maxNamed).join(', ')}${more}; set BELFRY_SECRET_KEY to the key that they ` +
        'were stored with, or rotate the secrets of webhooks, give sources and heartbeats new tokens and secrets, and watches their URLs, ' +
        'enter absence calendars again, and reset the second factors',
    );
  });
}

async function reencryptOnce(deps: SecretDeps) {
  const found = { reencrypted: 0, current: 0, unreadable: [] as string[], changed: 0 };
  for await (const secret of readSecrets(deps, sources)) {
    if (deps.cipher.isCurrent(secret.sealed)) {
      found.current++;
      continue;
    }
    let to: Buffer;
    try {
      to = secret.reseal();
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      found.unreadable.push(secret.name);
      continue;
    }
    if (await secret.replace(to)) {
      found.reencrypted++;
      found.current++;
    } else found.changed++;
  }
  return found;
}
